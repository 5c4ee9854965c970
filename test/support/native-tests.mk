# The rules that the Makefiles of the C++ tests share. They set `out`, `flags` and `makefile`.

$(out)/%.o: %.cc $(makefile) test/support/native-tests.mk
	@mkdir -p $(@D)
	$(CXX) $(flags) -MMD -MP -c -o $@ $<

# Fails where this compiler or machine has no such sanitizer.
.PHONY: probe
probe:
	@mkdir -p $(out)
	echo 'int main() {}' | $(CXX) $(flags) -x c++ -o $(out)/probe -
	$(out)/probe

.DELETE_ON_ERROR:
