package policy

import (
	"slices"
	"strings"
	"testing"
)

// upstreamRoles are the ClusterRoles of Kubernetes except those of controllers.
const upstreamRoles = `admin cluster-admin edit view system:aggregate-to-admin system:aggregate-to-edit system:aggregate-to-view
system:auth-delegator system:basic-user system:certificates.k8s.io:certificatesigningrequests:nodeclient
system:certificates.k8s.io:certificatesigningrequests:selfnodeclient system:certificates.k8s.io:kube-apiserver-client-approver
system:certificates.k8s.io:kube-apiserver-client-kubelet-approver system:certificates.k8s.io:kubelet-serving-approver
system:certificates.k8s.io:legacy-unknown-approver system:discovery system:heapster system:kube-aggregator
system:kube-controller-manager system:kube-dns system:kube-scheduler system:kubelet-api-admin system:monitoring system:node
system:node-bootstrapper system:node-problem-detector system:node-proxier system:persistent-volume-provisioner
system:public-info-viewer system:service-account-issuer-discovery system:volume-scheduler`

func TestRolesOfKubernetesExist(t *testing.T) {
	names := map[string]bool{}
	for _, r := range ClusterRoles() {
		names[r.Name] = true
	}
	for name := range strings.FieldsSeq(upstreamRoles) {
		if !names[name] {
			t.Errorf("got no ClusterRole %s, want it", name)
		}
	}
}

// TestApproverRolesAllowOneSigner checks that an approver may approve for one signer and nothing else.
func TestApproverRolesAllowOneSigner(t *testing.T) {
	count := 0
	for _, r := range ClusterRoles() {
		signer, ok := strings.CutSuffix(r.Name, "-approver")
		if !ok {
			continue
		}
		count++
		_, signer, _ = strings.Cut(signer, "certificates.k8s.io:")
		if len(r.Rules) != 1 || !slices.Equal(r.Rules[0].Verbs, []string{"approve"}) || !slices.Equal(r.Rules[0].Resources, []string{"signers"}) ||
			!slices.Equal(r.Rules[0].APIGroups, []string{"certificates.k8s.io"}) || !slices.Equal(r.Rules[0].ResourceNames, []string{"kubernetes.io/" + signer}) {
			t.Errorf("%s: got rules %v, want approve of signer %s only", r.Name, r.Rules, signer)
		}
	}
	if count != 4 {
		t.Errorf("got %d approver roles, want 4", count)
	}
}

// TestBindingsReferToExistingRoles also checks that no role exists twice.
func TestBindingsReferToExistingRoles(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range ClusterRoles() {
		if roles[r.Name] {
			t.Errorf("got role %s twice, want it once", r.Name)
		}
		roles[r.Name] = true
	}
	for _, b := range ClusterRoleBindings() {
		if !roles[b.RoleRef.Name] {
			t.Errorf("binding %s: got role %s, want one that exists", b.Name, b.RoleRef.Name)
		}
	}
}

// TestAutoscalerReadsMetrics checks that the service account of the autoscaler may read the metrics of other API
// servers.
func TestAutoscalerReadsMetrics(t *testing.T) {
	granted := map[string]bool{}
	for _, rule := range controllerRules()["horizontal-pod-autoscaler"] {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[verb+" "+group+" "+resource] = true
				}
			}
		}
	}
	for _, want := range []string{"get custom.metrics.k8s.io *", "list custom.metrics.k8s.io *", "get external.metrics.k8s.io *", "list external.metrics.k8s.io *"} {
		if !granted[want] {
			t.Errorf("got no permission %q, want it", want)
		}
	}
}
