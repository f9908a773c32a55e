package millrace

import (
	"context"
	"errors"
	"testing"
)

func TestQuote(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"path", "data/part 0.tfrecords", "data/part 0.tfrecords"},
		{"other scripts", "données/日本.tfrecords", "données/日本.tfrecords"},
		{"line break", "a\nb", `"a\nb"`},
		{"escape", "\x1b[2J", `"\x1b[2J"`},
		{"control sequence introducer", "\u009b2J", `"\u009b2J"`},
		{"reversed order", "a\u202egnp", `"a\u202egnp"`},
		{"not UTF-8", "a\xff", `"a\xff"`},
	}
	for _, tt := range tests {
		if got := Quote(tt.text); got != tt.want {
			t.Errorf("%s: Quote(%q)\n got %s\nwant %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestCanceled(t *testing.T) {
	cause := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for what, want := range map[string]string{"": "canceled: the user left", "scan": "scan canceled: the user left"} {
		err := Canceled(ctx, what)
		if err.Error() != want || !errors.Is(err, ErrCanceled) || !errors.Is(err, cause) {
			t.Errorf("Canceled(%q)\n got %v\nwant %s", what, err, want)
		}
	}
}
