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

// Authorizer is the node authorizer. It never denies a request: if it does not allow one, it has no
// opinion, and RBAC may still allow it.
type Authorizer struct {
	authorizer.AuthorizerFunc
	graph      *Graph
	rules      []rbacv1.PolicyRule
	byResource map[resource]authorizeFunc
}

type resource struct{ group, name string }

// authorizeFunc authorizes a request of a node for one resource.
type authorizeFunc func(node string, a authorizer.Attributes) denialReason

// denialReason is the reason for not allowing a request. "" means allowed.
type denialReason string

const allowed denialReason = ""

// useNodeRules defers the decision to policy.NodeRules.
const useNodeRules denialReason = "general rules"

// NewAuthorizer returns a node authorizer that uses graph and policy.NodeRules.
func NewAuthorizer(graph *Graph) *Authorizer {
	n := &Authorizer{graph: graph, rules: policy.NodeRules()}
	n.AuthorizerFunc = n.authorize
	n.byResource = map[resource]authorizeFunc{
		{"", secrets}:                             n.authorizeReadOf(secrets),
		{"", configMaps}:                          n.authorizeReadOf(configMaps),
		{"", serviceAccounts}:                     n.authorizeServiceAccount,
		{"", claims}:                              n.authorizeClaim,
		{"", "persistentvolumes"}:                 n.authorizeVolume,
		{"", "nodes"}:                             n.authorizeNode,
		{"", "pods"}:                              n.authorizePod,
		{"storage.k8s.io", "volumeattachments"}:   n.authorizeAttachment,
		{"storage.k8s.io", "csinodes"}:            n.authorizeCSINode,
		{"coordination.k8s.io", "leases"}:         n.authorizeLease,
		{resourceapi.GroupName, resourceClaims}:   n.authorizeReadOf(resourceClaims),
		{resourceapi.GroupName, "resourceslices"}: n.authorizeResourceSlice,
	}
	return n
}

func (n *Authorizer) authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	node, isNode := NodeIdentity(a.GetUser())
	if !isNode {
		return authorizer.DecisionNoOpinion, "", nil
	}
	if node == "" {
		return authorizer.DecisionNoOpinion, fmt.Sprintf("unknown node for user %q", a.GetUser().GetName()), nil
	}
	reason := useNodeRules
	if a.IsResourceRequest() {
		if authorize := n.byResource[resource{a.GetAPIGroup(), a.GetResource()}]; authorize != nil {
			reason = authorize(node, a)
		}
	}
	if reason == useNodeRules && rbac.Allows(a, n.rules...) {
		reason = allowed
	}
	switch reason {
	case allowed:
		return authorizer.DecisionAllow, "", nil
	case useNodeRules:
		return authorizer.DecisionNoOpinion, "", nil
	}
	return authorizer.DecisionNoOpinion, string(reason), nil
}

func noRelationship(node string) denialReason {
	return denialReason(fmt.Sprintf("no relationship found between node '%s' and this object", node))
}

// authorizeReadOf allows get, and list and watch of a single name, for objects that the node's pods
// reference.
func (n *Authorizer) authorizeReadOf(kind string) authorizeFunc {
	return func(node string, a authorizer.Attributes) denialReason {
		switch {
		case !slices.Contains([]string{"get", "list", "watch"}, a.GetVerb()):
			return "can only read resources of this type"
		case a.GetSubresource() != "":
			return "cannot read subresource"
		case a.GetNamespace() == "":
			return "can only read namespaced object of this type"
		}
		return n.authorizeReferenced(node, kind, a)
	}
}

func (n *Authorizer) authorizeReferenced(node, kind string, a authorizer.Attributes) denialReason {
	if a.GetName() == "" {
		return "no object name found"
	}
	if !n.graph.References(node, kind, a.GetNamespace(), a.GetName()) {
		return noRelationship(node)
	}
	return allowed
}

// authorizeServiceAccount allows get and token requests for the service accounts of the node's
// pods.
func (n *Authorizer) authorizeServiceAccount(node string, a authorizer.Attributes) denialReason {
	switch {
	case a.GetSubresource() == "token" && a.GetVerb() != "create":
		return "can only create tokens for individual service accounts"
	case a.GetSubresource() == "token", a.GetSubresource() == "" && a.GetVerb() == "get":
		return n.authorizeReferenced(node, serviceAccounts, a)
	}
	return "can only get service accounts and create tokens for them"
}

func (n *Authorizer) authorizeClaim(node string, a authorizer.Attributes) denialReason {
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
	return n.authorizeReferenced(node, claims, a)
}

func (n *Authorizer) authorizeVolume(node string, a authorizer.Attributes) denialReason {
	if a.GetVerb() != "get" || a.GetSubresource() != "" {
		return "can only get individual resources of this type"
	}
	if !n.graph.UsesVolume(node, a.GetName()) {
		return noRelationship(node)
	}
	return allowed
}

func (n *Authorizer) authorizeAttachment(node string, a authorizer.Attributes) denialReason {
	if a.GetVerb() != "get" || a.GetSubresource() != "" {
		return "can only get individual resources of this type"
	}
	if !n.graph.HasAttachment(node, a.GetName()) {
		return noRelationship(node)
	}
	return allowed
}

// authorizeNode allows reading the node's own Node object. Restriction checks writes.
func (n *Authorizer) authorizeNode(node string, a authorizer.Attributes) denialReason {
	read := slices.Contains([]string{"get", "list", "watch"}, a.GetVerb())
	if read && a.GetName() == "" {
		return denialReason(fmt.Sprintf("node '%s' cannot read all nodes, only its own Node object", node))
	}
	if read && a.GetName() != node { // a list with a metadata.name selector has a name
		return denialReason(fmt.Sprintf("node '%s' cannot read '%s', only its own Node object", node, a.GetName()))
	}
	if read && a.GetSubresource() != "" {
		return "cannot read subresource"
	}
	return useNodeRules
}

// authorizePod allows reading the pods bound to the node.
func (n *Authorizer) authorizePod(node string, a authorizer.Attributes) denialReason {
	switch a.GetVerb() {
	case "get":
		if sub := a.GetSubresource(); sub != "" && sub != "status" { // the status subresource returns the pod
			return "cannot read subresource"
		}
		if !n.graph.RunsPod(node, a.GetNamespace(), a.GetName()) {
			return noRelationship(node)
		}
		return allowed
	case "list", "watch":
		if a.GetSubresource() != "" {
			return "cannot read subresource"
		}
		if !requiresField(a, "spec.nodeName", node) {
			return "can only list/watch pods with spec.nodeName field selector"
		}
		return allowed
	}
	return useNodeRules
}

func (n *Authorizer) authorizeLease(node string, a authorizer.Attributes) denialReason {
	switch {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()) || a.GetSubresource() != "":
		return "can only get, create, update, patch, or delete a node lease"
	case a.GetNamespace() != corev1.NamespaceNodeLease:
		return denialReason(fmt.Sprintf("can only access leases in the %q system namespace", corev1.NamespaceNodeLease))
	case a.GetVerb() != "create" && a.GetName() != node: // on create the name may be in the body only
		return "can only access node lease with the same name as the requesting node"
	}
	return allowed
}

func (n *Authorizer) authorizeCSINode(node string, a authorizer.Attributes) denialReason {
	switch {
	case !slices.Contains([]string{"get", "create", "update", "patch", "delete"}, a.GetVerb()) || a.GetSubresource() != "":
		return "can only get, create, update, patch, or delete a CSINode"
	case a.GetVerb() != "create" && a.GetName() != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return allowed
}

// authorizeResourceSlice allows the node's own ResourceSlices. Restriction checks single objects.
func (n *Authorizer) authorizeResourceSlice(node string, a authorizer.Attributes) denialReason {
	switch a.GetVerb() {
	case "list", "watch", "deletecollection":
		if !requiresField(a, resourceapi.ResourceSliceSelectorNodeName, node) {
			return "can only list/watch/deletecollection resourceslices with nodeName field selector"
		}
	}
	return useNodeRules
}

// requiresField reports whether the field selector of the request requires field == value.
func requiresField(a authorizer.Attributes, field, value string) bool {
	requirements, err := a.GetFieldSelector()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(requirements, func(r fields.Requirement) bool {
		return r.Field == field && r.Value == value &&
			(r.Operator == selection.Equals || r.Operator == selection.DoubleEquals)
	})
}
