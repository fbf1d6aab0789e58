package nodeauth

import (
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
)

const userPrefix = "system:node:"

// NodeIdentity returns the name of the node if u is the credential of a node. The name is empty if the
// user name has only the prefix. Other users in system:nodes are not nodes.
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
