package nodeauth

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

const userPrefix = "system:node:"

// NodeOf says whether u is a node's credential, and of which node. The name is
// "" for a member of system:nodes whose user name names no node.
func NodeOf(u user.Info) (name string, isNode bool) {
	if u == nil || !slices.Contains(u.GetGroups(), user.NodesGroup) {
		return "", false
	}
	name, ok := strings.CutPrefix(u.GetName(), userPrefix)
	if !ok {
		return "", false
	}
	return name, true
}
