package explain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/berthproject/berth/engine/model"
)

// equalNodes returns equal nodes with a pod of 200m cpu each.
func equalNodes(nodes int, memory int64) []any {
	var out []any
	for i := range nodes {
		n := fmt.Sprintf("n%02d", i+1)
		p := pod("on-"+n, n, 0, 200)
		p.Spec.Requests.Memory = memory
		out = append(out, node(n, nil), p)
	}
	return out
}

// TestEqualSuggestionsAreGrouped checks that suggestions for equal nodes are reported
// once.
func TestEqualSuggestionsAreGrouped(t *testing.T) {
	largePod := func() *model.Pod { return pod("misfit", "", 0, 3900) }
	got := explanationText(t, explain(t, largePod(), equalNodes(3, 0)...))
	for _, want := range []string{"\n  free 100m cpu on n01, n02 or n03\n", "\n  add a node like n01, n02 or n03\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	e := explain(t, largePod(), equalNodes(10, 0)...)
	got = explanationText(t, e)
	for _, want := range []string{"free 100m cpu on n01, n02, n03, n04, n05 or n06 (4 more nodes with the same verdict were not tried)\n", "add a node like n01, n02, n03, n04, n05 or n06 (4 more"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	data, err := e.JSON()
	if err != nil || strings.Count(string(data), `"message": "free 100m cpu on n`) != 6 || !strings.Contains(string(data), `"similarNodesNotTried": 4`) {
		t.Errorf("got error %v and %s, want 6 suggestions and 4 nodes not tried", err, data)
	}
	cpuAndMemory := largePod()
	cpuAndMemory.Spec.Requests.Memory = 8 * gib
	if got := explanationText(t, explain(t, cpuAndMemory, equalNodes(2, gib)...)); !strings.Contains(got, "\n  free 100m cpu on n01 and free 1Gi memory on n01; or the same on n02\n") {
		t.Errorf("want one suggestion for both nodes in\n%s", got)
	}
}

// TestLargerNodeSuggestion checks that a suggested size lists only the insufficient
// resources.
func TestLargerNodeSuggestion(t *testing.T) {
	huge := pod("huge", "", 0, 9900)
	huge.Spec.Requests.Memory = 8 * gib
	if got := explanationText(t, explain(t, huge, node("n1", nil))); !strings.Contains(got, "\n  add a node like n1, but with 9900m cpu\n") {
		t.Errorf("want a node with 9900m cpu in\n%s", got)
	}
}

// TestSizeOfAddedNode checks that the JSON of a suggestion has the size of an added node that must be larger.
func TestSizeOfAddedNode(t *testing.T) {
	data, err := explain(t, pod("misfit", "", 0, 64000), node("n1", nil)).JSON()
	var got struct{ Suggestions []suggestionView }
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	i := slices.IndexFunc(got.Suggestions, func(s suggestionView) bool { return s.Changes[0].Kind == "AddNode" })
	if err != nil || i < 0 || !maps.Equal(got.Suggestions[i].Changes[0].Size, map[string]int64{"cpu": 64000}) {
		t.Fatalf("got %v, %s", err, data)
	}
}
