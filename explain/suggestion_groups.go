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
	at := map[string]int{}
	for i := range list {
		key := list[i].GroupKey()
		if k, ok := at[key]; ok && key != "" {
			out[k] = append(out[k], &list[i])
			continue
		}
		at[key] = len(out)
		out = append(out, []*remediation.Suggestion{&list[i]})
	}
	return out
}

// suggestionGroupText describes suggestions that differ only in the node.
func suggestionGroupText(pod *model.Pod, same []*remediation.Suggestion) string {
	first := *same[0]
	var names []string
	untried, places := 0, 0
	for _, r := range same {
		names = append(names, r.SingleNode())
		untried += r.Untried
	}
	for i := range first.Changes {
		if first.Changes[i].Node != "" {
			places++
		}
	}
	if places == 1 && len(same) > 1 { // with several changes, the nodes would seem to be independent
		first.Changes = slices.Clone(first.Changes)
		for i := range first.Changes {
			if first.Changes[i].Node != "" {
				first.Changes[i].Node = joinOr(names)
			}
		}
	}
	words := SuggestionText(pod, &first)
	if first.SingleNode() == "" && !strings.Contains(words, first.Node) && !strings.HasSuffix(first.Node, "-like") {
		words += "; it would go to " + first.Node
	}
	if places > 1 && len(same) > 1 {
		words += "; or the same on " + joinOr(names[1:])
	}
	if untried > 0 {
		words += fmt.Sprintf(" (%d more nodes with the same verdict were not tried)", untried)
	}
	return words
}

func joinOr(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
