package answers

import (
	"fmt"
	"os"
	"testing"

	"millrace/internal/test/testruntime"
	"millrace/internal/test/tfmain"
	"millrace/tfbridge"
)

func TestMain(m *testing.M) { os.Exit(tfmain.RunMixed(m)) }

// The cache does not exceed its size, and keeps the most recently used answers.
func TestCacheLimit(t *testing.T) {
	testruntime.Need(t)
	a := New(8 * 1000)
	if New(0) != nil {
		t.Error("a cache without room")
	}
	key := func(i int) Key { return Key{byte(i)} }
	y, err := tfbridge.NewTensor([]string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	for i := range 100 {
		a.Add(key(i), map[string]*tfbridge.Tensor{"y": y})
		if got := a.Find(key(0)); i < 5 && got == nil {
			t.Fatalf("after %d answers the first, which was asked for again, is gone", i)
		} else {
			for _, t := range got {
				t.Close()
			}
		}
	}
	if a.used > a.most || len(a.known) == 0 || len(a.known) != a.order.Len() {
		t.Errorf("%d bytes of %d, %d answers, %d in order", a.used, a.most, len(a.known), a.order.Len())
	}
	got := a.Find(key(0))
	if got == nil {
		t.Fatal("what was asked for last is gone")
	}
	defer got["y"].Close()
	if texts, err := got["y"].Strings(); err != nil || fmt.Sprint(texts) != "[a b]" {
		t.Errorf("the answer is %q, %v", texts, err)
	}
	long, err := tfbridge.NewTensor(make([]float32, 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	if a.Add(key(200), map[string]*tfbridge.Tensor{"y": long}); a.Find(key(200)) != nil {
		t.Error("a long answer took the room of many")
	}
}
