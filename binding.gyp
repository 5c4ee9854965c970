{
  "target_defaults": {
    "cflags!": ["-fno-exceptions"],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
    "cflags_cc": [
      "-std=c++17", "-fexceptions", "-fvisibility=hidden", "-O2", "-g1",
      "-Wall", "-Wextra", "<@(warnings)"
    ],
    "defines": ["NAPI_VERSION=9", "NODE_ADDON_API_CPP_EXCEPTIONS", "NODE_ADDON_API_DISABLE_DEPRECATED",
                "NODE_ADDON_API_REQUIRE_BASIC_FINALIZERS",
                # An exception that meets a worker on its way out has nobody to reach.
                "NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS"],
    "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"]
  },
  "variables": {
    "warnings%": ["-Werror"]
  },
  "targets": [
    {
      "target_name": "libfabric",
      "product_name": "libfabric",
      "sources": [
        "<!@(node scripts/native-sources.mjs)"
      ],
      "cflags_cc": ["<!@(node scripts/libfabric-flags.mjs --cflags)"],
      # ArrayBuffers outlive the worker that loaded it, and end in its code.
      "ldflags": ["-Wl,-z,nodelete"],
      "libraries": ["<!@(node scripts/libfabric-flags.mjs --libs)"]
    },
    {
      "target_name": "preload",
      "sources": ["native/preload/preload.cc"]
    },
    {
      # Not linked with rdma-core, which may be missing: native/verbs/library.h.
      "target_name": "verbs",
      "sources": ["<!@(node scripts/native-sources.mjs native/verbs)"]
    },
    {
      # Not linked with the CUDA driver, which may be missing: native/cuda/driver.h.
      "target_name": "cuda",
      "sources": ["<!@(node scripts/native-sources.mjs native/cuda)"]
    },
    {
      # Not linked with the Neuron runtime, which may be missing: native/neuron/runtime.h.
      "target_name": "neuron",
      "sources": ["<!@(node scripts/native-sources.mjs native/neuron)"]
    },
    {
      # Not linked with libraries of accelerators, which may be missing: native/rocr/runtime.h.
      "target_name": "accelerator",
      "sources": ["<!@(node scripts/native-sources.mjs native/accelerator native/rocr native/synapseai native/ze)"]
    },
    {
      "target_name": "softefa",
      "type": "shared_library",
      "product_prefix": "lib",
      "sources": ["<!@(node scripts/native-sources.mjs native/softefa)"],
      "cflags": ["-fPIC", "-pthread"],
      "ldflags": [
        "-pthread", "-Wl,-z,nodelete",
        "-Wl,--version-script=<(module_root_dir)/native/softefa/symbols.map"
      ]
    }
  ]
}
