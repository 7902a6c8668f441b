// SPDX-License-Identifier: Apache-2.0
// A program of OpenGL without a window: a frame is drawn into a framebuffer object and waited for. Called by test_zink.sh:
//   gl FRAMES FILE
// Each frame has triangles of one color each with a depth test, a textured square that is blended, lines, and indexes of a byte. Writes the last
// frame's pixels to FILE, RGBA from the bottom, and prints the renderer's name. Ends with 77, and says why, if there is no such context.
#define EGL_NO_X11
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 64, TEXELS = 8 };

static int skip(const char *why) {
    printf("%s (EGL error 0x%x)\n", why, (unsigned)eglGetError());
    return 77;
}

static int make_context(void) {
    static const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE};
    EGLConfig config = NULL;
    EGLint count = 0;
    EGLDisplay display = eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    if (!display || !eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API))
        return skip("no EGL without a window");
    if (!eglChooseConfig(display, wanted, &config, 1, &count) || !count)
        config = NULL;
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
    if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        return skip("no context of OpenGL");
    return 0;
}

static void make_target(void) {
    GLuint frame, buffers[2];
    glGenFramebuffers(1, &frame);
    glGenRenderbuffers(2, buffers);
    glBindFramebuffer(GL_FRAMEBUFFER, frame);
    for (int i = 0; i < 2; i++) {
        glBindRenderbuffer(GL_RENDERBUFFER, buffers[i]);
        glRenderbufferStorage(GL_RENDERBUFFER, i ? GL_DEPTH_COMPONENT16 : GL_RGBA8, SIZE, SIZE);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, i ? GL_DEPTH_ATTACHMENT : GL_COLOR_ATTACHMENT0,
                                  GL_RENDERBUFFER, buffers[i]);
    }
    glViewport(0, 0, SIZE, SIZE);
}

static void make_texture(void) {
    static uint8_t texels[TEXELS][TEXELS][4];
    for (int y = 0; y < TEXELS; y++)
        for (int x = 0; x < TEXELS; x++) {
            texels[y][x][0] = (uint8_t)(x * 32);
            texels[y][x][1] = (uint8_t)(y * 32);
            texels[y][x][2] = (uint8_t)((x ^ y) * 32);
            texels[y][x][3] = 128;
        }
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, TEXELS, TEXELS, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
}

// Of each triangle the last vertex says the color.
static void draw_fan(float turn) {
    glShadeModel(GL_FLAT);
    glBegin(GL_TRIANGLE_STRIP);
    for (int i = 0; i < 8; i++) {
        glColor3f((float)(i % 3) / 2, (float)(i % 2), (float)i / 8);
        glVertex3f((float)i / 4 - 1, (i % 2 ? 0.7f : -0.7f) * turn, (float)i / 8 - 0.6f);
    }
    glEnd();
}

static void draw_lines(void) {
    static const GLubyte indexes[] = {0, 1, 1, 2, 2, 0};
    static const GLfloat points[] = {-0.9f, -0.9f, 0.9f, -0.8f, 0.1f, 0.9f};
    glEnableClientState(GL_VERTEX_ARRAY);
    glVertexPointer(2, GL_FLOAT, 0, points);
    glColor3f(1, 1, 0);
    glDrawElements(GL_LINES, 6, GL_UNSIGNED_BYTE, indexes);
    glDisableClientState(GL_VERTEX_ARRAY);
}

static void draw_square(void) {
    static const float corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    glEnable(GL_TEXTURE_2D);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glColor3f(1, 1, 1);
    glBegin(GL_QUADS);
    for (int i = 0; i < 4; i++) {
        glTexCoord2fv(corners[i]);
        glVertex3f(corners[i][0] - 0.5f, corners[i][1] - 0.5f, -0.3f);
    }
    glEnd();
    glDisable(GL_BLEND);
    glDisable(GL_TEXTURE_2D);
}

static void draw(int frame) {
    glClearColor(0.1f, 0.2f, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    glEnable(GL_DEPTH_TEST);
    draw_fan(1 - (float)frame / 16);
    draw_square();
    draw_lines();
    glFinish();
}

int main(int argc, char **argv) {
    static uint8_t pixels[SIZE * SIZE * 4];
    if (argc < 3)
        return 2;
    const int status = make_context();
    if (status)
        return status;
    printf("%s\n", (const char *)glGetString(GL_RENDERER));
    make_target();
    make_texture();
    for (int i = 1; i <= atoi(argv[1]); i++)
        draw(i);
    glReadPixels(0, 0, SIZE, SIZE, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    if (glGetError() != GL_NO_ERROR)
        return 3;
    FILE *file = fopen(argv[2], "wb");
    return !file || fwrite(pixels, sizeof pixels, 1, file) != 1 || fclose(file) != 0;
}
