# The C++ tests of cgo/datasets that need no TensorFlow, compiled once for each
# VARIANT: plain, asan, tsan or arm64. Called from the Makefile in the top directory.
VARIANT := plain
GTEST := -lgtest_main -lgtest
GTEST_FILTER := *
SOURCES := ahead_source block_pool buffer_order crc32c crc32c_fold decoded_records example_decoder file_cursor file_source files_ahead image_resize joined media_check near_records ordered_horizon ordered_reader picked_records position_reader read_ahead \
	record_block record_blocks record_lengths record_order record_reader record_rows record_run record_walk \
	sequence_decoder usual_form window_plan window_ranges word_table worker_pool
TESTS := $(basename $(notdir $(wildcard cgo/datasets/*_test.cc)))
OUT := build/native/$(VARIANT)

SANITIZE_plain :=
SANITIZE_asan := -fsanitize=address,undefined -fno-sanitize-recover=all
SANITIZE_tsan := -fsanitize=thread
FLAGS := -std=c++17 -Wall -Wextra -Werror -pthread -MMD -MP $(SANITIZE_$(VARIANT))
# GoogleTest's macros take four times as long to compile with optimisation.
OPTIMISE = $(if $(filter %_test,$*),-g1 -O0,-g -O1)

.DEFAULT_GOAL := run
OBJECTS := $(patsubst %,$(OUT)/%.o,$(SOURCES) $(TESTS))

.PHONY: program sources
program: $(OUT)/datasets_test
sources:
	@echo $(SOURCES)

.PHONY: run
run: $(OUT)/datasets_test
	ASAN_OPTIONS=allocator_may_return_null=1 TSAN_OPTIONS=allocator_may_return_null=1 $(OUT)/datasets_test --gtest_brief=1 --gtest_filter='$(GTEST_FILTER)'

$(OUT)/datasets_test: $(OBJECTS)
	$(CXX) $(FLAGS) $^ $(GTEST) -o $@

$(OUT)/%.o: cgo/datasets/%.cc cgo/datasets/tests.mk
	@mkdir -p $(@D)
	$(CXX) $(FLAGS) $(OPTIMISE) -c $< -o $@

-include $(OBJECTS:.o=.d)
