package terminal

import (
	"encoding/json"
	"testing"
)

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

func TestText(t *testing.T) {
	if got, want := Text("a\u009b1\n\tb\u202e\n"), "a\ufffd1\n b\ufffd\n"; got != want {
		t.Errorf("Text\n got %q\nwant %q", got, want)
	}
}

func TestAppendJSON(t *testing.T) {
	names := []string{"plain", "\x1b[2J", "a\u009b2J", "a\u202egnp", "\U000e0001tag", "日本 été", "\u2028", `"\`, "\x7f"}
	text, err := json.MarshalIndent(names, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	got := AppendJSON([]byte(" "), text)
	var again []string
	if err := json.Unmarshal(got, &again); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	for i, name := range names {
		if again[i] != name {
			t.Errorf("%q reads back as %q", name, again[i])
		}
	}
	for _, r := range string(got) {
		if r != '\n' && r != '\t' && shown(r) != r {
			t.Errorf("%q has %q", got, r)
		}
	}
}
