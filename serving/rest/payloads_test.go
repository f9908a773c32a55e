package rest

import (
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"millrace/internal/test/corrupt"
	"millrace/internal/test/soak"
)

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
// TensorProtos. Each is answered by a value or by 400, and normal requests get their
// values.
func TestServerSurvivesHostileTensors(t *testing.T) {
	web := start(t, nil, "payloads")
	status, text := payload(t, web, "single", corrupt.LyingVariant())
	if status != http.StatusBadRequest || !strings.Contains(text, "variant") || !strings.Contains(text, `\"x\"`) {
		t.Errorf("a variant: %d %s", status, text)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	answered := map[int]int{}
	for range soak.Rounds(300, 20000) {
		b := corrupt.MutateTensor(rng)
		for _, signature := range []string{"single", "texts"} {
			status, text := payload(t, web, signature, b)
			if answered[status]++; status != http.StatusOK && status != http.StatusBadRequest {
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
