package terminal

import "testing"

func TestLine(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "loader.json:3:1: bad", "loader.json:3:1: bad"},
		{"line breaks", "a\nb\r\nc\n", "a; b; c"},
		{"tab", "a\tb", "a b"},
		{"escape", "\x1b[2Jgone", "\ufffd[2Jgone"},
		{"control sequence introducer", "\u009b2J", "\ufffd2J"},
		{"bell and delete", "\a\x7f", "\ufffd\ufffd"},
		{"reversed order", "model\u202egnp.exe", "model\ufffdgnp.exe"},
		{"isolated order", "a\u2066b\u2069", "a\ufffdb\ufffd"},
		{"line separator", "a\u2028b", "a\ufffdb"},
		{"byte order mark", "\ufeffa", "\ufffda"},
		{"not UTF-8", "a\xffb", "a\ufffdb"},
		{"other scripts", "été 日本語 می\u200cشود 👩\u200d🚀\u00a0x", "été 日本語 می\u200cشود 👩\u200d🚀\u00a0x"},
	}
	for _, tt := range tests {
		if got := Line(tt.text); got != tt.want {
			t.Errorf("%s: Line(%q)\n got %q\nwant %q", tt.name, tt.text, got, tt.want)
		}
	}
}
