package main

import "testing"

func TestUnquotePython(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", `'abc') and more`, "abc"},
		{"double quotes", `"it's"`, "it's"},
		{"letters", `'\n\t\r\\\'\"'`, "\n\t\r\\'\""},
		{"hex", `'\x00\xffz'`, "\x00\xffz"},
		{"octal", `'\0013\377'`, "\x013\xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := unquotePython(tt.in)
			if err != nil || string(got) != tt.want {
				t.Errorf("unquotePython(%s)\n got %q, %v\nwant %q", tt.in, got, err, tt.want)
			}
		})
	}
	for _, bad := range []string{``, `x`, `'abc`, `'abc\`, `'\x1`, `'\q00'`, `'\999'`} {
		if got, err := unquotePython(bad); err == nil {
			t.Errorf("unquotePython(%s) = %q, want an error", bad, got)
		}
	}
}
