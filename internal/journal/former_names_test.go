package journal

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"
)

// TestFormerNames checks that records of version 0.1.0 can be read.
func TestFormerNames(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	want := Displacement{Time: at, Cause: "API", Pod: Pod{Namespace: "ns", Name: "p"}, RequestedBy: "ann", Preemptor: &Pod{Namespace: "ns", Name: "high"}, Reconstructed: true, Deleted: &at}
	former := `{"time":"2026-01-02T03:04:05Z","cause":"API","pod":{"namespace":"ns","name":"p"},"by":"ann","for":{"namespace":"ns","name":"high"},"afterwards":true,"gone":"2026-01-02T03:04:05Z"}`
	current, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{former, string(current)} {
		if got, err := ParseDisplacement(text); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: got error %v and\n%+v\nwant\n%+v", text, err, got, want)
		}
	}
	decision := Decision{Time: at, Namespace: "ns", Name: "p", Action: "reject", Plugins: []string{"NodeName"}, Outcome: "refused", Reason: "conflict"}
	former = `{"time":"2026-01-02T03:04:05Z","namespace":"ns","name":"p","what":"reject","rules":["NodeName"],"outcome":"refused","why":"conflict"}`
	if current, err = json.Marshal(decision); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{former, string(current)} {
		var got Decision
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, decision) {
			t.Errorf("%s: got error %v and\n%+v\nwant\n%+v", text, err, got, decision)
		}
	}
}
