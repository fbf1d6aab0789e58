package cli

import "testing"

func TestDidYouMean(t *testing.T) {
	candidates := []string{"pod", "node-labels", "node-memory", "node", "displacement", "nodes-file"}
	for name, want := range map[string]string{
		"pdo":          ": did you mean pod?",
		"pods":         ": did you mean pod?",
		"nod":          ": did you mean node or nodes-file or node-labels?",
		"displacment":  ": did you mean displacement?",
		"dispalcmeent": ": did you mean displacement?",
		"service":      "",
		"up":           "",
		"":             "",
	} {
		if got := DidYouMean(name, candidates); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", name, got, want)
		}
	}
}
