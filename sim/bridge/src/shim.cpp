// The C face of one verilated model. ports.inc lists its ports as PORT(slot, member, "name", bits, input).
#include "Vmodel.h"
#include "verilated.h"
#if VM_TRACE_FST
#include "verilated_fst_c.h"
#endif

#include <cstdint>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default")))

// The run-time library is built with VL_USER_FATAL and VL_USER_FINISH: a model that gives up
// must not end the process, and $finish only sets a flag.
void vl_fatal(const char* file, int line, const char*, const char* message) {
    const std::string place
        = file && *file ? std::string{file} + ":" + std::to_string(line) + ": " : "";
    throw std::runtime_error{place + message};
}

void vl_finish(const char*, int, const char*) { Verilated::threadContextp()->gotFinish(true); }

namespace {

struct Instance final {
    VerilatedContext context;
    std::unique_ptr<Vmodel> model;
#if VM_TRACE_FST
    std::unique_ptr<VerilatedFstC> wave;
#endif
    std::string error;
};

struct Port final {
    const char* name;
    uint32_t bits;
    uint32_t input;
};

const Port PORTS[] = {
#define PORT(slot, member, name, bits, input) {name, bits, input},
#include "ports.inc"
#undef PORT
    {nullptr, 0, 0}};

// Runs an action, keeping the text of what it throws; 0 on success.
template <typename Action>
int guarded(Instance* instance, Action action) {
    try {
        action();
        return 0;
    } catch (const std::exception& e) {
        instance->error = e.what();
    } catch (...) {
        instance->error = "unknown C++ exception";
    }
    return 1;
}

}  // namespace

EXPORT const Port* ferroce_ports() { return PORTS; }

EXPORT Instance* ferroce_new(uint32_t threads) {
    auto instance = std::make_unique<Instance>();
    const int failed = guarded(instance.get(), [&] {
        instance->context.threads(threads);
        instance->context.timeunit(-15);
        instance->context.timeprecision(-15);
#if VM_TRACE_FST
        instance->context.traceEverOn(true);
#endif
        instance->model = std::make_unique<Vmodel>(&instance->context, "");
        // The first evaluation sees no edges: it settles the design with all inputs, clocks
        // included, at 0, so that the caller's first rising clock is one.
        instance->model->eval();
    });
    return failed ? nullptr : instance.release();
}

EXPORT void ferroce_delete(Instance* instance) {
    guarded(instance, [&] { instance->model->final(); });
    delete instance;
}

EXPORT int ferroce_eval(Instance* instance, uint64_t time_fs) {
    return guarded(instance, [&] {
        instance->context.time(time_fs);
        instance->model->eval();
    });
}

EXPORT const char* ferroce_error(const Instance* instance) { return instance->error.c_str(); }

EXPORT int ferroce_finished(const Instance* instance) { return instance->context.gotFinish(); }

EXPORT void* ferroce_port(Instance* instance, uint32_t index) {
    switch (index) {
#define PORT(slot, member, name, bits, input) \
    case slot: return &instance->model->member;
#include "ports.inc"
#undef PORT
    default: return nullptr;
    }
}

EXPORT int ferroce_wave_open(Instance* instance, const char* path) {
#if VM_TRACE_FST
    return guarded(instance, [&] {
        instance->wave = std::make_unique<VerilatedFstC>();
        instance->model->trace(instance->wave.get(), 99);
        instance->wave->open(path);
        if (!instance->wave->isOpen()) throw std::runtime_error{"not open"};
    });
#else
    return 1;
#endif
}

EXPORT void ferroce_wave_dump(Instance* instance, uint64_t time_fs) {
#if VM_TRACE_FST
    instance->wave->dump(time_fs);
#endif
}

EXPORT void ferroce_wave_close(Instance* instance) {
#if VM_TRACE_FST
    instance->wave->close();
#endif
}
