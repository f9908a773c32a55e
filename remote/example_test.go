package remote_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"

	"millrace/remote"
)

// memory is a store of objects in a map.
type memory map[string]string

func (m memory) Stat(_ context.Context, url string) (remote.Info, error) {
	data, ok := m[url]
	if !ok {
		return remote.Info{}, &remote.Failure{Msg: "there is no such object", Err: fs.ErrNotExist}
	}
	return remote.Info{Size: int64(len(data))}, nil
}

func (m memory) Open(ctx context.Context, url string, r remote.Range) (*remote.Body, error) {
	info, err := m.Stat(ctx, url)
	if err != nil {
		return nil, err
	}
	part := m[url][r.From:min(r.From+r.Bytes, info.Size)]
	return &remote.Body{ReadCloser: io.NopCloser(bytes.NewReader([]byte(part))), Info: info, Offset: r.From}, nil
}

// A scheme needs a type with two methods.
func ExampleRegister() {
	remote.Register("memory", memory{"memory://greetings/first": "hello"})
	f, err := remote.Open(context.Background(), "memory://greetings/first")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	fmt.Println(string(text), err)
	// Output: hello <nil>
}
