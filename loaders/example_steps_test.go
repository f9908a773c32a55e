package loaders_test

import (
	"context"
	"fmt"
	"log"

	"millrace/loaders"
	"millrace/loaders/decl"
	"millrace/loaders/processing"
	"millrace/loaders/spec"
	"millrace/tfbridge"
)

// darkenArgs are the arguments of a step of type darken, as a config has them.
type darkenArgs struct {
	decl.Object
	Share float64 `json:"share" decl:"required,above=0,max=1" doc:"How much of the light stays."`
}

// Check says what the step makes of its tensor.
func (a *darkenArgs) Check(c *processing.Context) processing.Step {
	t, ok := c.Floats()
	if !ok || a.At == nil || a.Bad("share") {
		return nil
	}
	return processing.Map{What: fmt.Sprint(a.Share), To: t.Tensor, Func: func(b *processing.Site, x tfbridge.Output) tfbridge.Output {
		return b.Tensor(x).Mul(float32(a.Share)).Output()
	}}
}

// A program may declare its types of processing steps. Configs use them as they use Millrace's:
// they are checked before the data are read, and problems name the line.
func ExampleCheckOptions_steps() {
	own := processing.Type{Name: "darken", Doc: "Makes images darker.", Args: func() processing.Args { return new(darkenArgs) }}
	check := &loaders.CheckOptions{Steps: []processing.Type{own}, Replace: []spec.Replacement{
		{Key: "processing_steps", Value: []byte(`[{"tensor": "image", "type": "darken", "args": {"share": 0.5}}]`)},
	}}
	loader, err := loaders.Open(digits, &loaders.Options{Check: check})
	if err != nil {
		log.Fatal(err)
	}
	defer loader.Close()
	for batch, err := range loader.Batches(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		pixels, err := tfbridge.View[float32](batch.Tensor("image"))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(pixels[:8])
		break
	}
	check.Replace[0].Value = []byte(`[{"tensor": "label", "type": "darken", "args": {"share": 2}}]`)
	_, problems := loaders.Check(digits, check)
	for _, p := range problems {
		fmt.Println(p.Key, p.Msg)
	}
	// Output:
	// [0 0 3 7.5 8 7.5 5.5 0]
	// args.processing_steps[0].tensor darken takes floating-point numbers, and "label" is int64
	// args.processing_steps[0].args.share tensor "label": must be at most 1, got 2
}
