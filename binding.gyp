{
  # scripts/native-build.mjs says what each target is made of.
  "target_defaults": {
    "cflags!": ["-fno-exceptions"],
    "cflags_cc!": ["-fno-exceptions", "-fno-rtti"],
    "cflags_cc": [
      "<!@(node scripts/native-build.mjs cflags)", "-fexceptions", "-O2", "-g1", "<@(warnings)",
      "-ffunction-sections", "-fdata-sections"
    ],
    "ldflags": ["-Wl,--gc-sections"],
    "defines": ["<!@(node scripts/native-build.mjs defines)"],
    "include_dirs": ["<!(node -p \"require('node-addon-api').include_dir\")"]
  },
  "variables": {
    "warnings%": ["-Werror"],
    # No data moves through these: they are built for size.
    "small": ["-Os"]
  },
  "targets": [
    {
      "target_name": "libfabric",
      "product_name": "libfabric",
      "sources": ["<!@(node scripts/native-build.mjs units libfabric)"],
      "cflags_cc": ["<!@(node scripts/libfabric-flags.mjs --cflags)"],
      "ldflags": ["<!@(node scripts/native-build.mjs ldflags libfabric)"],
      "libraries": ["<!@(node scripts/libfabric-flags.mjs --libs)"]
    },
    {
      "target_name": "preload",
      "sources": ["<!@(node scripts/native-build.mjs units preload)"],
      "cflags_cc": ["<@(small)"]
    },
    {
      "target_name": "verbs",
      "sources": ["<!@(node scripts/native-build.mjs units verbs)"],
      "cflags_cc": ["<@(small)"]
    },
    {
      "target_name": "cuda",
      "sources": ["<!@(node scripts/native-build.mjs units cuda)"],
      "cflags_cc": ["<@(small)"]
    },
    {
      "target_name": "neuron",
      "sources": ["<!@(node scripts/native-build.mjs units neuron)"],
      "cflags_cc": ["<@(small)"]
    },
    {
      "target_name": "softefa",
      "type": "shared_library",
      "product_prefix": "lib",
      "sources": ["<!@(node scripts/native-build.mjs units softefa)"],
      "cflags": ["-fPIC", "-pthread"],
      "ldflags": ["<!@(node scripts/native-build.mjs ldflags softefa)"]
    }
  ]
}
