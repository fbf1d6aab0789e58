package nodeauth

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

const userPrefix = "system:node:"

// NodeIdentity says whether u is a node's credential, and of which node. The name is "" where the user's ends after the prefix.
// Who is called otherwise is no node, though in system:nodes.
func NodeIdentity(u user.Info) (name string, isNode bool) {
	if u == nil || !slices.Contains(u.GetGroups(), user.NodesGroup) {
		return "", false
	}
	name, ok := strings.CutPrefix(u.GetName(), userPrefix)
	if !ok {
		return "", false
	}
	return name, true
}
