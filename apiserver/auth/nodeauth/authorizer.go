package nodeauth

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/berthproject/berth/apiserver/auth/rbac"
	"github.com/berthproject/berth/apiserver/auth/rbac/policy"
)

// Authorizer bounds node credentials. It never denies: for what it does not
// grant it has no opinion, and RBAC may know more.
type Authorizer struct {
	authorizer.AuthorizerFunc
	graph *Graph
	rules []rbacv1.PolicyRule
	judge map[resource]judge
}

type resource struct{ group, name string }

// judge decides a request of node on one resource.
type judge func(node string, a authorizer.Attributes) verdict

// verdict is why a request is refused; "" means allowed.
type verdict string

const allowed verdict = ""

// general marks a request that the node's general rules decide.
const general verdict = "general rules"

// NewAuthorizer decides by graph and policy.NodeRules.
func NewAuthorizer(graph *Graph) *Authorizer {
	n := &Authorizer{graph: graph, rules: policy.NodeRules()}
	n.AuthorizerFunc = n.decide
	n.judge = map[resource]judge{
		{"", secrets}:                             n.reads(secrets),
		{"", configMaps}:                          n.reads(configMaps),
		{"", accounts}:                            n.account,
		{"", claims}:                              n.claim,
		{"", "persistentvolumes"}:                 n.volume,
		{"", "nodes"}:                             n.node,
		{"", "pods"}:                              n.pod,
		{"storage.k8s.io", "volumeattachments"}:   n.attachment,
		{"storage.k8s.io", "csinodes"}:            n.csiNode,
		{"coordination.k8s.io", "leases"}:         n.lease,
		{resourceapi.GroupName, devices}:          n.reads(devices),
		{resourceapi.GroupName, "resourceslices"}: n.slice,
	}
	return n
}

func (n *Authorizer) decide(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	node, isNode := NodeOf(a.GetUser())
	if !isNode {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if node == "" {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("unknown node for user %q", a.GetUser().GetName()), nil
	}
	why := general
	if a.IsResourceRequest() {
		if judge := n.judge[resource{a.GetAPIGroup(), a.GetResource()}]; judge != nil {
			why = judge(node, a)
		}
	}
	if why == general && rbac.Allows(a, n.rules...) {
		why = allowed
	}
	switch why {
	case allowed:
		return authorizer.DecisionAllow, "", nil
	case general:
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionNoOpinion, string(why), nil
}

func unrelated(node string) verdict {
	return verdict(fmt.Sprintf("no relationship found between node '%s' and this object", node))
}

// reads grants get, and list or watch of one name, of what the node's pods refer to.
func (n *Authorizer) reads(kind string) judge {
	return func(node string, a authorizer.Attributes) verdict {
		switch {
		case !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()):
			return "can only read resources of this type"
		case a.GetSubresource() != "":
			return "cannot read subresource"
		case a.GetNamespace() == "":
			return "can only read namespaced object of this type"
		}
		return n.related(node, kind, a)
	}
}

func (n *Authorizer) related(node, kind string, a authorizer.Attributes) verdict {
	if a.GetName() == "" {
		return "no object name found"
	}
	if !n.graph.Refers(node, kind, a.GetNamespace(), a.GetName()) {
		return unrelated(node)
	}
	return allowed
}

// account grants get, and tokens, of the accounts that the node's pods run as.
func (n *Authorizer) account(node string, a authorizer.Attributes) verdict {
	switch {
	case a.GetSubresource() == "token" && a.GetVerb() != "create":
		return "can only create tokens for individual service accounts"
	case a.GetSubresource() == "token", a.GetSubresource() == "" && a.GetVerb() == "get":
		return n.related(node, accounts, a)
	}
	return "can only get service accounts and create tokens for them"
}

func (n *Authorizer) claim(node string, a authorizer.Attributes) verdict {
	verbs := []string{"get"}
	switch a.GetSubresource() {
	case "":
	case "status":
		verbs = []string{"get", "update", "patch"}
	default:
		return "only subresource status is allowed"
	}
	if !slices.Contains(verbs, a.GetVerb()) {
		return "can only get individual resources of this type"
	}
	return n.related(node, claims, a)
}

func (n *Authorizer) volume(node string, a authorizer.Attributes) verdict {
	if a.GetVerb() != "get" || a.GetSubresource() != "" {
		return "can only get individual resources of this type"
	}
	if !n.graph.UsesVolume(node, a.GetName()) {
		return unrelated(node)
	}
	return allowed
}

func (n *Authorizer) attachment(node string, a authorizer.Attributes) verdict {
	if a.GetVerb() != "get" || a.GetSubresource() != "" {
		return "can only get individual resources of this type"
	}
	if !n.graph.Attached(node, a.GetName()) {
		return unrelated(node)
	}
	return allowed
}

// node grants reading its own Node; what it writes is for Restriction to check.
func (n *Authorizer) node(node string, a authorizer.Attributes) verdict {
	read := slices.Contains([]string{"get", "list", "watch"}, a.GetVerb())
	if read && a.GetName() == "" {
		return verdict(fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node))
	}
	if read && a.GetName() != node { // a list by metadata.name carries the name
		return verdict(fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.GetName()))
	}
	if read && a.GetSubresource() != "" {
		return "cannot read subresource"
	}
	return general
}

// pod grants reading the pods bound to the node.
func (n *Authorizer) pod(node string, a authorizer.Attributes) verdict {
	switch a.GetVerb() {
	case "get":
		if sub := a.GetSubresource(); sub != "" && sub != "status" { // status is the pod itself
			return "cannot read subresource"
		}
		if !n.graph.Runs(node, a.GetNamespace(), a.GetName()) {
			return unrelated(node)
		}
		return allowed
	case "list", "watch":
		if a.GetSubresource() != "" {
			return "cannot read subresource"
		}
		if !selects(a, "spec.nodeName", node) {
			return "can only list/watch pods with spec.nodeName field selector"
		}
		return allowed
	}
	return general
}

func (n *Authorizer) lease(node string, a authorizer.Attributes) verdict {
	switch {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()) || a.GetSubresource() != "":
		return "can only get, create, update, patch, or delete a node lease"
	case a.GetNamespace() != corev1.NamespaceNodeLease:
		return verdict(fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
	case a.GetVerb() != "create" && a.GetName() != node: // on create the name may be in the body only
		return "can only access node lease with the same name as the requesting node"
	}
	return allowed
}

func (n *Authorizer) csiNode(node string, a authorizer.Attributes) verdict {
	switch {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()) || a.GetSubresource() != "":
		return "can only get, create, update, patch, or delete a CSINode"
	case a.GetVerb() != "create" && a.GetName() != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return allowed
}

// slice grants the node's own ResourceSlices; single ones are for Restriction.
func (n *Authorizer) slice(node string, a authorizer.Attributes) verdict {
	switch a.GetVerb() {
	case "list", "watch", "deletecollection":
		if !selects(a, resourceapi.ResourceSliceSelectorNodeName, node) {
			return "can only list/watch/deletecollection resourceslices with nodeName field selector"
		}
	}
	return general
}

// selects says whether the request's field selector demands field == value.
func selects(a authorizer.Attributes, field, value string) bool {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(requirements, func(r fields.Requirement) bool {
		return r.Field == field && r.Value == value &&
			(r.Operator == selection.Equals || r.Operator == selection.DoubleEquals)
	})
}
