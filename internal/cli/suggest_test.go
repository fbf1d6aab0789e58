package cli

import "testing"

func TestDidYouMean(t *testing.T) {
	known := []string{"pod", "node-labels", "node-memory", "node", "displacement", "nodes-file"}
	for given, want := range map[string]string{
		"pdo":          ": did you mean pod?",
		"pods":         ": did you mean pod?",
		"nod":          ": did you mean node or nodes-file or node-labels?",
		"displacment":  ": did you mean displacement?",
		"dispalcmeent": ": did you mean displacement?",
		"service":      "",
		"up":           "",
		"":             "",
	} {
		if got := DidYouMean(given, known); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}
