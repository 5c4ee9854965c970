# The addon without native/js and Node.js, for the makefiles of test/fuzz and test/without-node. It needs Node's headers, of which NODE_HEADERS
# is the folder. The makefile sets CXX, out (the folder of what is built), flags (of the compiler), makefiles, left_out
# (sources that it replaces), replaced (what replaces them) and absent (prefixes of functions that it links no library for).

ask := node scripts/native-build.mjs
addon_flags := $(addprefix -D,$(shell $(ask) defines)) -isystem $(NODE_HEADERS) $(shell node scripts/libfabric-flags.mjs --cflags)

units_of = $(patsubst %.cc,%.o,$(shell $(ask) units --into $(out)/units $(addprefix --without ,$(left_out)) $(1)))
addon := $(call units_of,$(addprefix native/,providers engine objects transfer net))
device := $(call units_of,softefa)

# The functions that are absent. Nothing reaches them, unless the makefile links its own.
$(out)/node.o: $(addon) $(replaced)
	nm -u $^ | grep -oE '\<($(absent))\w*' | sort -u | \
	  sed 's/.*/__attribute__((weak)) void &(void) { __builtin_trap(); }/' | $(CXX) -x c -c -o $@ -

$(addon): private flags += $(addon_flags)
$(device): private flags += -fPIC
$(out)/units/%.o: $(out)/units/%.cc $(makefiles)
	$(CXX) $(flags) -MMD -MP -c -o $@ $<

-include $(addon:.o=.d) $(device:.o=.d)
