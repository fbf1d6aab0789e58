package history

import (
	"slices"
	"testing"
	"time"

	"github.com/berthproject/berth/engine/displacement"
	"github.com/berthproject/berth/internal/journal"
)

func TestFilter(t *testing.T) {
	newRecord := func(name, node, cause, kind, owner string, ago time.Duration) *journal.Displacement {
		d := &journal.Displacement{Time: baseTime.Add(-ago), Node: node, Cause: cause, Pod: journal.Pod{Namespace: "ns", Name: name}}
		if kind != "" {
			d.Owner = &journal.Owner{Kind: kind, Name: owner}
		}
		return d
	}
	list := []*journal.Displacement{newRecord("a", "n1", "Taint", "ReplicaSet", "web-5c9", time.Minute), newRecord("b", "n2", "API", "StatefulSet", "web", time.Hour), newRecord("c", "n1", "Pressure", "", "", 2*time.Hour)}
	for name, tc := range map[string]struct {
		f    Filter
		want []string
	}{
		"all":               {Filter{}, []string{"a", "b", "c"}},
		"a node":            {Filter{Node: "n1"}, []string{"a", "c"}},
		"causes":            {Filter{Causes: []displacement.Cause{displacement.API, displacement.Taint}}, []string{"a", "b"}},
		"since":             {Filter{Since: baseTime.Add(-time.Hour)}, []string{"a", "b"}},
		"an owner's name":   {Filter{Owner: "web"}, []string{"a", "b"}},
		"a Deployment":      {Filter{Owner: "deployment/web"}, []string{"a"}},
		"a ReplicaSet":      {Filter{Owner: "ReplicaSet/web-5c9"}, []string{"a"}},
		"a StatefulSet":     {Filter{Owner: "statefulset/web"}, []string{"b"}},
		"an owner's prefix": {Filter{Owner: "we"}, nil},
	} {
		var got []string
		for _, d := range tc.f.Apply(list) {
			got = append(got, d.Pod.Name)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
	if _, err := ParseCauses([]string{"taint", "wind"}); err == nil {
		t.Error("an unknown cause was accepted, want an error")
	}
}
