# SPDX-License-Identifier: Apache-2.0
class Tracesmith < Formula
  desc "Profiler and replayer for programs that use GPUs"
  homepage "@URL@"
  url "@URL@"
  version "@VERSION@"
  sha256 "@SHA256@"
  license "Apache-2.0"

@BREW@
  depends_on "elfutils"
  depends_on "expat"
  depends_on "libmicrohttpd"
  depends_on :linux
  depends_on "sqlite"
  depends_on "xz"
  depends_on "zlib"
  depends_on "zstd"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DTRACESMITH_BUILD_TESTS=OFF", "-DTRACESMITH_BUILD_BENCH=OFF",
           "-DTRACESMITH_BUILD_EXAMPLES=OFF", "-DTRACESMITH_ENABLE_OCLGRIND=OFF", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/tracesmith version")
    (testpath/"trace.json").write '[{"name":"a","ph":"X","ts":1,"dur":2,"pid":1,"tid":1}]'
    system bin/"tracesmith", "info", "trace.json"
  end
end
