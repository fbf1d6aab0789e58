package fairness

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
)

// Users of Berth's components, see apiserver/auth/pki.
const (
	simulatedNodes = "system:berth:simulated-nodes"
	descheduler    = "system:berth:descheduler"
	localDirectory = "system:berth:local-directory"
)

// berthFlowSchemas returns the flow schemas of Berth's components. They have the precedence of their
// counterparts in Kubernetes: nodes, and controllers.
func berthFlowSchemas() []*flowcontrolv1.FlowSchema {
	byUser := bootstrap.SuggestedFlowSchemaSystemNodes.Spec.DistinguisherMethod
	all := flowcontrolv1.ResourcePolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, ClusterScope: true, Namespaces: []string{"*"}}
	nodes := flowcontrolv1.ResourcePolicyRule{Verbs: []string{"*"}, APIGroups: []string{corev1.GroupName}, Resources: []string{"nodes", "nodes/status"}, ClusterScope: true, Namespaces: []string{"*"}}
	leases := flowcontrolv1.ResourcePolicyRule{Verbs: []string{"*"}, APIGroups: []string{coordinationv1.GroupName}, Resources: []string{"leases"}, Namespaces: []string{"*"}}
	level := func(template *flowcontrolv1.FlowSchema) string { return template.Spec.PriorityLevelConfiguration.Name }
	schema := func(name string, template *flowcontrolv1.FlowSchema, users []string, rules ...flowcontrolv1.ResourcePolicyRule) *flowcontrolv1.FlowSchema {
		rule := flowcontrolv1.PolicyRulesWithSubjects{ResourceRules: rules}
		for _, u := range users {
			rule.Subjects = append(rule.Subjects, flowcontrolv1.Subject{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: u}})
		}
		return &flowcontrolv1.FlowSchema{
			ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{flowcontrolv1.AutoUpdateAnnotationKey: "true"}},
			Spec: flowcontrolv1.FlowSchemaSpec{MatchingPrecedence: template.Spec.MatchingPrecedence, DistinguisherMethod: byUser,
				PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: level(template)}, Rules: []flowcontrolv1.PolicyRulesWithSubjects{rule}},
		}
	}
	return []*flowcontrolv1.FlowSchema{
		schema("berth-node-high", bootstrap.SuggestedFlowSchemaSystemNodeHigh, []string{simulatedNodes}, nodes, leases),
		schema("berth-nodes", bootstrap.SuggestedFlowSchemaSystemNodes, []string{simulatedNodes}, all),
		schema("berth-controllers", bootstrap.SuggestedFlowSchemaKubeControllerManager, []string{descheduler, localDirectory}, all),
	}
}
