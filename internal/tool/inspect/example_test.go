package inspect_test

import (
	"context"
	"fmt"
	"log"

	"millrace/internal/tool/inspect"
)

func ExampleDataset() {
	report, err := inspect.Dataset(context.Background(), "../../../examples/digits/data/train", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Records, "records")
	for _, f := range report.Features {
		fmt.Println(f.Name, f.Kinds, f.Values)
	}
	// Output:
	// 1437 records
	// id [bytes] 1
	// image [int] 64
	// label [int] 1
	// pixels [bytes] 1
}
