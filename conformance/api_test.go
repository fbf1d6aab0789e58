package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"
)

// apiVector is a recorded sequence of requests to kube-apiserver.
type apiVector struct {
	ID      string    `json:"id"`
	Family  string    `json:"family"`
	Note    string    `json:"note"`
	Steps   []apiStep `json:"steps"`
	Cleanup []string  `json:"cleanup"`
}

// apiStep is a request and the recorded response.
type apiStep struct {
	Method      string            `json:"method"`
	Path        string            `json:"path"`
	ContentType string            `json:"contentType"`
	Headers     map[string]string `json:"headers"`
	Body        json.RawMessage   `json:"body"`
	Expect      apiResponse       `json:"expect"`
}

// apiResponse is a recorded response, or an actual one in the same form.
type apiResponse struct {
	Code       int        `json:"code"`
	Object     any        `json:"object,omitempty"`
	Status     *apiStatus `json:"status,omitempty"`
	Events     []any      `json:"events,omitempty"`
	Text       string     `json:"text,omitempty"`
	Warnings   []string   `json:"warnings,omitempty"`
	RetryAfter string     `json:"retryAfter,omitempty"`
	StatusLine string     `json:"statusLine,omitempty"`
}

// apiStatus is the part of a metav1.Status that is compared.
type apiStatus struct {
	Status            string            `json:"status,omitempty"`
	Reason            string            `json:"reason,omitempty"`
	Message           string            `json:"message,omitempty"`
	Details           map[string]string `json:"details,omitempty"`
	Causes            []apiCause        `json:"causes,omitempty"`
	RetryAfterSeconds int               `json:"retryAfterSeconds,omitempty"`
}

// apiCause is a metav1.StatusCause.
type apiCause struct {
	Reason  string `json:"reason,omitempty"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message,omitempty"`
}

// compacts reports whether the vector compacts the etcd store.
func (v apiVector) compacts() bool {
	return slices.ContainsFunc(v.Steps, func(s apiStep) bool { return s.Method == "COMPACT" })
}

// TestAPI checks that `berth server` responds like the recorded kube-apiserver.
func TestAPI(t *testing.T) {
	families := loadFamilies(t, "api")
	if len(families) == 0 {
		skipWithoutVectors(t, "api")
	}
	names := make([]string, 0, len(families))
	for name := range families {
		names = append(names, name)
	}
	sort.Strings(names)
	servers := newServers(t)
	divergent := divergentIDs(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) { runFamily(t, name, families[name], servers, divergent) })
	}
}

// runFamily replays the vectors of a family and prints how many passed.
func runFamily(t *testing.T, name string, vectors []json.RawMessage, servers *servers, divergentIDs map[string]bool) {
	passed, failed, divergent := 0, 0, 0
	for _, raw := range vectors {
		var v apiVector
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		server := servers.embedded(t)
		if v.compacts() {
			server = servers.compactable(t)
		}
		mismatches := server.replay(v)
		switch {
		case divergentIDs[v.ID] && len(mismatches) == 0:
			failed++
			t.Errorf("%s (%s) is listed in docs/reference/differences.md, but does not differ: remove it there", v.ID, v.Note)
		case divergentIDs[v.ID]:
			divergent++
		case len(mismatches) > 0:
			failed++
			t.Errorf("%s (%s)\n  %s", v.ID, v.Note, strings.Join(mismatches, "\n  "))
		default:
			passed++
		}
	}
	line := fmt.Sprintf("%s: %d passed, %d failed", name, passed, failed)
	if divergent > 0 {
		line += fmt.Sprintf(" (%d differ on purpose, docs/reference/differences.md)", divergent)
	}
	fmt.Println(line)
}
