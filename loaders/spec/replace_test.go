package spec

import (
	"strings"
	"testing"

	"millrace/internal/base/jsonpos"
)

// An argument takes the place of another one, or is added, and lines stay lines.
func TestReplace(t *testing.T) {
	for _, tt := range []struct{ text, set, want string }{
		{`{"args": {"seed": 1, "epochs": null}}`, `epochs=3`, `{"args": {"seed": 1, "epochs": 3}}`},
		{"{\"args\": {\n  \"shard\": {\n \"count\": 1},\n \"seed\": 1}}", "shard={\"index\": 2,\n \"count\": 3}", "{\"args\": {\n  \"shard\": {\"index\":2,\"count\":3},\n \"seed\": 1}}"},
		{`{"args": {"seed": 1}}`, `mode="eval"`, `{"args": {"mode": "eval", "seed": 1}}`},
		{"{\"args\": { }}", `a"b=[]`, `{"args": {"a\"b": [] }}`},
		{` {"x": [], "args": {"seed": 1}}`, `seed=2`, ` {"x": [], "args": {"seed": 2}}`},
	} {
		r, err := ParseReplacement(tt.set)
		if err != nil {
			t.Fatal(err)
		}
		node, err := jsonpos.Parse([]byte(tt.text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(r.in(node)); got != tt.want {
			t.Errorf("%s with %s\n got %s\nwant %s", tt.text, tt.set, got, tt.want)
		}
	}
	for _, text := range []string{"epochs", "=1", "epochs=", "mode=eval", "a={} {}"} {
		if _, err := ParseReplacement(text); err == nil {
			t.Errorf("%q was accepted", text)
		} else if !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
