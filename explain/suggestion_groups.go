package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/berthproject/berth/engine/model"
	"github.com/berthproject/berth/engine/remediation"
)

// groupEqual groups suggestions that differ only in the node, in the order of the first of
// each group.
func groupEqual(list []remediation.Suggestion) [][]*remediation.Suggestion {
	var out [][]*remediation.Suggestion
	indexes := map[string]int{}
	for i := range list {
		key := list[i].GroupKey()
		if k, ok := indexes[key]; ok && key != "" {
			out[k] = append(out[k], &list[i])
			continue
		}
		indexes[key] = len(out)
		out = append(out, []*remediation.Suggestion{&list[i]})
	}
	return out
}

// suggestionGroupText describes suggestions that differ only in the node.
func suggestionGroupText(pod *model.Pod, group []*remediation.Suggestion) string {
	first := *group[0]
	var names []string
	untried, numNodes := 0, 0
	for _, r := range group {
		names = append(names, r.SingleNode())
		untried += r.Untried
	}
	for i := range first.Changes {
		if first.Changes[i].Node != "" {
			numNodes++
		}
	}
	if numNodes == 1 && len(group) > 1 { // with several changes, the nodes would seem to be independent
		first.Changes = slices.Clone(first.Changes)
		for i := range first.Changes {
			if first.Changes[i].Node != "" {
				first.Changes[i].Node = joinOr(names)
			}
		}
	}
	text := SuggestionText(pod, &first)
	if first.SingleNode() == "" && !strings.Contains(text, first.Node) && !strings.HasSuffix(first.Node, "-like") {
		text += "; the pod would run on " + first.Node
	}
	if numNodes > 1 && len(group) > 1 {
		text += "; or the same on " + joinOr(names[1:])
	}
	if untried > 0 {
		text += fmt.Sprintf(" (%d more nodes with the same verdict were not tried)", untried)
	}
	return text
}

func joinOr(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
