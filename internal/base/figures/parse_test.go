package figures

import "testing"

func TestParseSize(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int64
	}{
		{"0", 0}, {"-1", -1}, {"65536", 65536}, {" 12 ", 12}, {"7B", 7}, {"200KB", 200_000}, {"200kb", 200_000}, {"200 KB", 200_000}, {"2K", 2000},
		{"64MiB", 64 << 20}, {"64Mi", 64 << 20}, {"1.5GB", 1_500_000_000}, {"0.5GiB", 1 << 29}, {"2T", 2e12}, {"1PiB", 1 << 50},
		{"9223372036854775807", 1<<63 - 1},
	} {
		if got, err := ParseSize(tt.text); err != nil || got != tt.want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"", "KB", "-2KB", "1.2.3MB", "1XB", "1MiBB", "1Mib s", "9223372036854775808", "9300PB", "0x10", "1e3", "NaN", "Inf"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}
