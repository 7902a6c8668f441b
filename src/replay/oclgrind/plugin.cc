// SPDX-License-Identifier: Apache-2.0
// The plugin for Oclgrind: the one file of C++, since that is the interface Oclgrind has. It counts the interpreter's
// operations by instruction, and passes them to the library through replay/oclgrind/oclgrind.h.
//
// Oclgrind reports the work-item of a memory access, and an instruction only after it has run: an access belongs to
// the current instruction of its work-item.
#include "replay/oclgrind/oclgrind.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "oclgrind/Plugin.h"

#include "oclgrind/Context.h"
#include "oclgrind/Kernel.h"
#include "oclgrind/KernelInvocation.h"
#include "oclgrind/Memory.h"
#include "oclgrind/Program.h"
#include "oclgrind/WorkItem.h"

#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace oclgrind;

namespace {

const oclgrind_client *client;
uint32_t instructions; // that were described to the client, of all contexts

class Collector : public Plugin {
  public:
    explicit Collector(const Context *context) : Plugin(context) {
    }

    bool isThreadSafe() const override {
        return false; // so that Oclgrind interprets in one thread
    }

    void kernelBegin(const KernelInvocation *invocation) override;
    void kernelEnd(const KernelInvocation *) override;
    void instructionExecuted(const WorkItem *item, const llvm::Instruction *instruction,
                             const TypedValue &) override;
    void log(MessageType type, const char *message) override;

    void memoryLoad(const Memory *memory, const WorkItem *item, size_t address, size_t size) override {
        if (counting)
            access(OCLGRIND_LOAD, memory, item, address, size);
    }
    void memoryStore(const Memory *memory, const WorkItem *item, size_t address, size_t size,
                     const uint8_t *) override {
        if (counting)
            access(OCLGRIND_STORE, memory, item, address, size);
    }
    // An atomic operation is reported as a load, and again as a store if it wrote.
    void memoryAtomicLoad(const Memory *memory, const WorkItem *item, AtomicOp, size_t address,
                          size_t size) override {
        if (counting)
            access(OCLGRIND_ATOMIC, memory, item, address, size);
    }
    void memoryLoad(const Memory *memory, const WorkGroup *, size_t, size_t size) override {
        if (counting)
            add(group, OCLGRIND_LOAD, memory, size);
    }
    void memoryStore(const Memory *memory, const WorkGroup *, size_t, size_t size, const uint8_t *) override {
        if (counting)
            add(group, OCLGRIND_STORE, memory, size);
    }

  private:
    struct Pending {
        const WorkItem *item = nullptr;
        oclgrind_step step = {};
    };

    uint32_t index_of(const llvm::Instruction *instruction);
    void describe(uint32_t index, const llvm::Instruction *instruction);
    void access(oclgrind_access what, const Memory *memory, const WorkItem *item, size_t address,
                size_t size);
    static void add(oclgrind_counts &to, oclgrind_access what, const Memory *memory, size_t size);
    bool is_chosen(const WorkItem *item) const;

    bool counting = false;
    const Program *program = nullptr;
    // By program first: an instruction may have the address of one of a freed program.
    using Indexes = std::unordered_map<const llvm::Instruction *, uint32_t>;
    std::unordered_map<unsigned long, Indexes> programs;
    Indexes *known = nullptr; // of the program that runs
    const llvm::Instruction *last = nullptr; // most questions are about the one before
    uint32_t last_index = 0;
    std::vector<oclgrind_counts> counts; // of this launch, by index
    oclgrind_counts group = {};
    Pending pending; // what the chosen work-item accessed in the instruction it is at
};

// ---- instructions

void Collector::describe(uint32_t index, const llvm::Instruction *instruction) {
    std::ostringstream text;
    dumpInstruction(text, instruction);
    std::string whole = text.str();
    whole.resize(std::min(whole.size(), whole.find(", !"))); // without the numbers of metadata
    const std::string function = instruction->getFunction()->getName().str();
    std::string file, source;
    oclgrind_instruction out = {};
    if (const llvm::DILocation *place = instruction->getDebugLoc().get()) {
        out.line = place->getLine();
        out.column = place->getColumn();
        file = place->getFilename().str();
        if (out.line && out.line < program->getNumSourceLines())
            source = program->getSourceLine(out.line);
    }
    out.function = function.c_str();
    out.opcode = instruction->getOpcodeName();
    out.text = whole.c_str();
    out.file = file.c_str();
    out.source = source.c_str();
    client->instruction(client->context, index, &out);
}

uint32_t Collector::index_of(const llvm::Instruction *instruction) {
    if (instruction == last)
        return last_index;
    const auto found = known->emplace(instruction, instructions);
    last = instruction;
    last_index = found.first->second;
    if (found.second) {
        instructions++;
        describe(last_index, instruction);
    }
    if (counts.size() <= last_index)
        counts.resize(last_index + 1);
    return last_index;
}

bool Collector::is_chosen(const WorkItem *item) const {
    const Size3 id = item->getGlobalID();
    return client->stream && id.x == client->item[0] && id.y == client->item[1] && id.z == client->item[2];
}

void Collector::instructionExecuted(const WorkItem *item, const llvm::Instruction *instruction,
                                    const TypedValue &) {
    if (!counting)
        return;
    const uint32_t index = index_of(instruction);
    oclgrind_counts &count = counts[index];
    bool branch = false, taken = false;
    count.executed++;
    if (const auto *jump = llvm::dyn_cast<llvm::BranchInst>(instruction))
        if (jump->isConditional()) {
            branch = true;
            taken = item->getOperand(jump->getCondition()).getUInt() & 1;
            count.branches++;
            count.taken += taken;
        }
    if (!is_chosen(item))
        return;
    oclgrind_step step = pending.item == item ? pending.step : oclgrind_step{};
    pending.item = nullptr;
    step.instruction = index;
    step.branch = branch;
    step.taken = taken;
    client->step(client->context, &step);
}

// ---- memory

void Collector::add(oclgrind_counts &to, oclgrind_access what, const Memory *memory, size_t size) {
    const unsigned space = memory->getAddressSpace() % OCLGRIND_SPACES;
    if (what == OCLGRIND_LOAD) {
        to.loads[space]++;
        to.load_bytes[space] += size;
    } else if (what == OCLGRIND_STORE) {
        to.stores[space]++;
        to.store_bytes[space] += size;
    } else {
        to.atomics++;
    }
}

void Collector::access(oclgrind_access what, const Memory *memory, const WorkItem *item, size_t address,
                       size_t size) {
    const llvm::Instruction *instruction = item->getCurrentInstruction();
    if (!instruction)
        return;
    add(counts[index_of(instruction)], what, memory, size);
    if (!is_chosen(item))
        return;
    if (pending.item != item) {
        pending.item = item;
        pending.step = {};
        pending.step.access = what;
        pending.step.space = (uint8_t)(memory->getAddressSpace() % OCLGRIND_SPACES);
        pending.step.address = address;
    }
    pending.step.bytes += size;
}

// ---- launches

static void copy(uint64_t *to, const Size3 &from) {
    to[0] = from.x;
    to[1] = from.y;
    to[2] = from.z;
}

void Collector::kernelBegin(const KernelInvocation *invocation) {
    const Kernel *kernel = invocation->getKernel();
    counting = client && client->kernel && kernel->getName() == client->kernel;
    if (!counting)
        return;
    oclgrind_launch launch = {};
    launch.kernel = kernel->getName().c_str();
    launch.dimensions = (uint32_t)invocation->getWorkDim();
    copy(launch.global, invocation->getGlobalSize());
    copy(launch.local, invocation->getLocalSize());
    copy(launch.offset, invocation->getGlobalOffset());
    program = kernel->getProgram();
    known = &programs[program->getUID()];
    last = nullptr;
    counts.assign(counts.size(), oclgrind_counts{});
    group = {};
    pending.item = nullptr;
    client->launch_begin(client->context, &launch);
}

void Collector::kernelEnd(const KernelInvocation *) {
    if (!counting)
        return;
    counting = false;
    for (uint32_t i = 0; i < counts.size(); i++)
        if (counts[i].executed)
            client->counts(client->context, i, &counts[i]);
    client->launch_end(client->context, &group);
}

void Collector::log(MessageType type, const char *message) {
    if (client && (type == ERROR || type == WARNING))
        client->message(client->context, message);
}

std::unordered_map<Context *, std::unique_ptr<Collector>> collectors; // of each context that is alive

} // namespace

// ---- what Oclgrind and the library call

extern "C" __attribute__((visibility("default"))) void initializePlugins(Context *context) {
    if (!client)
        return;
    auto collector = std::make_unique<Collector>(context);
    context->registerPlugin(collector.get());
    collectors[context] = std::move(collector);
}

extern "C" __attribute__((visibility("default"))) void releasePlugins(Context *context) {
    const auto found = collectors.find(context);
    if (found == collectors.end())
        return;
    context->unregisterPlugin(found->second.get());
    collectors.erase(found);
}

extern "C" __attribute__((visibility("default"))) int
tracesmith_oclgrind_attach(const oclgrind_client *wanted) {
    if (wanted && wanted->interface != OCLGRIND_INTERFACE)
        return 0;
    client = wanted;
    instructions = 0;
    return 1;
}
