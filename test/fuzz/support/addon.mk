# The addon without Node.js, for the makefiles of test/fuzz and test/without-node. It needs Node's headers, of which NODE_HEADERS
# is the folder. The makefile sets CXX, out (the folder of what is built), flags (of the compiler), makefiles, left_out
# (sources that it replaces), replaced (what replaces them) and absent (prefixes of functions that it links no library for).

defines := NAPI_VERSION=9 NODE_ADDON_API_CPP_EXCEPTIONS NODE_ADDON_API_DISABLE_DEPRECATED \
  NODE_ADDON_API_REQUIRE_BASIC_FINALIZERS NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
addon_flags := -Wno-unused-parameter $(addprefix -D,$(defines)) -isystem $(NODE_HEADERS) -isystem node_modules/node-addon-api \
  $(shell node scripts/libfabric-flags.mjs --cflags)

# A folder is one translation unit, because most of the time of many goes to headers. The names in the anonymous
# namespaces of a folder must therefore differ.
addon := $(patsubst %,$(out)/%.o,native native/engine native/transfer)

# The functions that are absent. Nothing reaches them, unless the makefile links its own. native/util is about V8's.
of_util := _ZN3fab[0-9]+(backingOf|toBuffer|requireBackingStores)
$(out)/node.o: $(addon) $(replaced)
	nm -u $^ | grep -oE '\<($(absent)|$(of_util))\w*' | sort -u | \
	  sed 's/.*/__attribute__((weak)) void &(void) { __builtin_trap(); }/' | $(CXX) -x c -c -o $@ -

$(addon): $(out)/%.o: $(makefiles)
	@mkdir -p $(@D)
	printf '#include "%s"\n' $(filter-out $(left_out),$(wildcard $*/*.cc)) | $(CXX) $(flags) $(addon_flags) -MMD -MP -MF $(@:.o=.d) \
	  -MT $@ -x c++ -I . -c -o $@ -

-include $(addon:.o=.d)
