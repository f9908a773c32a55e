package rest

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"millrace/internal/base/tfproto"
	"millrace/internal/test/corrupt"
	"millrace/internal/test/soak"
	"millrace/serving"
)

// TestTextOfNothing asks for tensors without elements whose text would be billions of
// brackets. Each is refused before it is written.
func TestTextOfNothing(t *testing.T) {
	web := listen(t, serveModels(t, &serving.Options{RequestMemory: 64 << 20}, "payloads"), &ServerOptions{Options: Options{Logger: quiet}})
	defer web.Close()
	for _, dims := range [][]int64{{50_000_000, 0}, {1000, 100_000, 0}, {1 << 40, 1 << 20, 0}, {1 << 40, 0, 5}} {
		status, text := payload(t, web, "single", corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT}, dims...))
		if status != http.StatusTooManyRequests || !strings.Contains(text, "the request takes at least") {
			t.Errorf("%v: %d %.200s", dims, status, text)
		}
	}
	if status, text := payload(t, web, "single", corrupt.Tensor(&tfproto.TensorProto{Dtype: tfproto.DataType_DT_FLOAT}, 3, 0)); status != http.StatusOK || text != `{"outputs":[[],[],[]]}`+"\n" {
		t.Errorf("three empty rows: %d %s", status, text)
	}
}

// payload posts bytes as the input of a signature of the model "payloads".
func payload(t *testing.T, web *endpoint, signature string, b []byte) (int, string) {
	t.Helper()
	body := fmt.Sprintf(`{"signature_name": %q, "inputs": {"b64": %q}}`, signature, base64.StdEncoding.EncodeToString(b))
	answer, err := web.Client().Post(web.URL+"/v1/models/payloads:predict", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestServerSurvivesHostileTensors sends, to a model that parses tensors of its
// requests, a variant with false contents, which would crash the server, and spoiled
// TensorProtos. Each is answered by a value or by 400, or by 429 if its answer would be
// larger than the memory of requests; and normal requests get their values.
func TestServerSurvivesHostileTensors(t *testing.T) {
	web := start(t, nil, "payloads")
	status, text := payload(t, web, "single", corrupt.LyingVariant())
	if status != http.StatusBadRequest || !strings.Contains(text, "variant") || !strings.Contains(text, `\"x\"`) {
		t.Errorf("a variant: %d %s", status, text)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	answered := map[int]int{}
	for range soak.Repeat(300, 20000, 1) {
		b := corrupt.MutateTensor(rng)
		for _, signature := range []string{"single", "texts"} {
			status, text := payload(t, web, signature, b)
			tooLarge := status == http.StatusTooManyRequests && strings.Contains(text, "the request takes at least") // the long form finds some
			if answered[status]++; status != http.StatusOK && status != http.StatusBadRequest && !tooLarge {
				t.Errorf("signature %s, bytes %x: %d %s", signature, b, status, text)
			}
		}
	}
	if answered[http.StatusOK] < 5 || answered[http.StatusBadRequest] < 100 {
		t.Errorf("the answers by status are %v", answered)
	}
	if status, text := payload(t, web, "single", corrupt.Floats(1, 2.5)); status != http.StatusOK || text != `{"outputs":[1.0,2.5]}`+"\n" {
		t.Errorf("a sound request: %d %s", status, text)
	}
}
