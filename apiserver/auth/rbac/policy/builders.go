package policy

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// API groups.
const (
	core           = ""
	apps           = "apps"
	authentication = "authentication.k8s.io"
	authorization  = "authorization.k8s.io"
	autoscaling    = "autoscaling"
	batch          = "batch"
	certificates   = "certificates.k8s.io"
	coordination   = "coordination.k8s.io"
	discovery      = "discovery.k8s.io"
	eventsGroup    = "events.k8s.io"
	extensions     = "extensions"
	metricsGroup   = "metrics.k8s.io"
	networking     = "networking.k8s.io"
	nodeGroup      = "node.k8s.io"
	policyGroup    = "policy"
	berthGroup     = "berth.dev"
	rbacGroup      = "rbac.authorization.k8s.io"
	resource       = "resource.k8s.io"
	scheduling     = "scheduling.k8s.io"
	storage        = "storage.k8s.io"

	customMetricsGroup   = "custom.metrics.k8s.io"
	externalMetricsGroup = "external.metrics.k8s.io"
)

// Common verb sets.
const (
	read      = "get list watch"
	write     = "create delete deletecollection patch update"
	readWrite = "create delete deletecollection get list patch update watch"
)

const (
	bootstrapLabel = "kubernetes.io/bootstrapping"
	bootstrapValue = "rbac-defaults"
)

// allow returns a rule with verbs (separated by spaces) for resources of one group.
func allow(verbs, group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), APIGroups: []string{group}, Resources: resources}
}

// allowNamed returns a rule that is restricted to object names.
func allowNamed(verbs, group, res string, names ...string) rbacv1.PolicyRule {
	rule := allow(verbs, group, res)
	rule.ResourceNames = names
	return rule
}

// allowURLs returns a rule for non-resource URLs.
func allowURLs(verbs string, urls ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: urls}
}

// recordEvents returns a rule to record events in both API groups.
func recordEvents() rbacv1.PolicyRule {
	rule := allow("create patch update", core, "events")
	rule.APIGroups = []string{core, eventsGroup}
	return rule
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{bootstrapLabel: bootstrapValue},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: meta(name), Rules: rules}
}

// aggregatedRole returns a ClusterRole that aggregates all roles with the label
// rbac.authorization.k8s.io/aggregate-to-NAME=true.
func aggregatedRole(name string) *rbacv1.ClusterRole {
	role := clusterRole(name)
	role.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{aggregationLabel(name): "true"}},
	}}
	return role
}

func aggregationLabel(name string) string { return "rbac.authorization.k8s.io/aggregate-to-" + name }

// aggregatesTo adds role to the aggregated role named to.
func aggregatesTo(role *rbacv1.ClusterRole, to string) *rbacv1.ClusterRole {
	role.Labels[aggregationLabel(to)] = "true"
	return role
}

func bind(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
}

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
}

func serviceAccount(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceSystem, Name: name}
}
