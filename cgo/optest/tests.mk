# The C++ tests of the dataset operations as TensorFlow runs them. OPS is the
# library of the operations, in the directory of TensorFlow's library and
# headers. Called from the Makefile in the top directory.
RUNTIME := $(patsubst %/ops/,%,$(dir $(OPS)))
VARIANT := ops
OUT := build/native/$(VARIANT)
GTEST := -lgtest_main -lgtest
OBJECTS := $(patsubst cgo/optest/%.cc,$(OUT)/%.o,$(wildcard cgo/optest/*.cc)) $(OUT)/crc32c.o $(OUT)/crc32c_fold.o
LIBRARIES := $(foreach name,cc framework,$(firstword $(wildcard $(RUNTIME)/libtensorflow_$(name).so.2 $(RUNTIME)/lib/libtensorflow_$(name).so.2)))
FLAGS := -g1 -O0 -std=c++17 -Wall -Wextra -Werror -pthread -MMD -MP -isystem $(RUNTIME)/include

.PHONY: run
run: $(OUT)/ops_test
	MILLRACE_OPS='$(OPS)' TF_CPP_MIN_LOG_LEVEL=3 TF_ENABLE_ONEDNN_OPTS=0 $(OUT)/ops_test --gtest_brief=1

$(OUT)/ops_test: $(OBJECTS)
	$(CXX) $(FLAGS) $^ $(LIBRARIES) -Wl,-rpath,$(dir $(firstword $(LIBRARIES))) $(GTEST) -o $@

$(OUT)/%.o: cgo/optest/%.cc cgo/optest/tests.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -c $< -o $@

$(OUT)/%.o: cgo/datasets/%.cc cgo/optest/tests.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) -c $< -o $@

-include $(OBJECTS:.o=.d)
