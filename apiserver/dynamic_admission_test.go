package apiserver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

const validatingPolicy = `
metadata: {name: names}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: ["", example.com], apiVersions: [v1], operations: [CREATE], resources: [configmaps, widgets]}
  variables:
  - {name: forbidden, expression: "'bad'"}
  validations:
  - {expression: "!object.metadata.name.startsWith(variables.forbidden)", messageExpression: "object.metadata.name + ' is a bad name'"}
`

const mutatingPolicy = `
metadata: {name: labels}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - {apiGroups: ["", example.com], apiVersions: [v1], operations: [CREATE], resources: [configmaps, widgets]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"team": "a"}}}'}
  - patchType: JSONPatch
    jsonPatch: {expression: '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/by"), value: "policy"}]'}
`

// decode decodes a YAML object.
func decode[T any](t *testing.T, text string) *T {
	t.Helper()
	obj := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func createPolicies(t *testing.T, client kubernetes.Interface) {
	admission := client.AdmissionregistrationV1()
	_, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), decode[admissionregistrationv1.ValidatingAdmissionPolicy](t, validatingPolicy), metav1.CreateOptions{})
	if err == nil {
		_, err = admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), decode[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t,
			"{metadata: {name: names}, spec: {policyName: names, validationActions: [Deny]}}"), metav1.CreateOptions{})
	}
	if err == nil {
		_, err = admission.MutatingAdmissionPolicies().Create(t.Context(), decode[admissionregistrationv1.MutatingAdmissionPolicy](t, mutatingPolicy), metav1.CreateOptions{})
	}
	if err == nil {
		_, err = admission.MutatingAdmissionPolicyBindings().Create(t.Context(), decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](t,
			"{metadata: {name: labels}, spec: {policyName: labels}}"), metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPoliciesApplyToBuiltInAndCustomKinds checks that policies apply to built-in kinds and to custom resources.
func TestPoliciesApplyToBuiltInAndCustomKinds(t *testing.T) {
	server := start(t)
	createDefinition(t, jsonConfig(server), widgetDefinition)
	client := clientset(t, server.LoopbackConfig())
	createPolicies(t, client)
	widgets := dynamic.NewForConfigOrDie(jsonConfig(server)).Resource(widgetResource).Namespace("default")
	creators := map[string]func(ctx context.Context, name string) (metav1.Object, error){
		"ConfigMap": func(ctx context.Context, name string) (metav1.Object, error) {
			return client.CoreV1().ConfigMaps("default").Create(ctx, configMap(name), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		},
		"Widget": func(ctx context.Context, name string) (metav1.Object, error) {
			return widgets.Create(ctx, newWidget(name, map[string]any{"color": "red"}), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		},
	}
	for kind, create := range creators {
		eventually(t, "the policy rejects a bad "+kind, func(ctx context.Context) error {
			_, err := create(ctx, "bad")
			if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "bad is a bad name") {
				return nil
			}
			return fmt.Errorf("got %v, want the message of the policy", err)
		})
		eventually(t, "the policy sets labels of a "+kind, func(ctx context.Context) error {
			created, err := create(ctx, "good")
			if err == nil && (created.GetLabels()["team"] != "a" || created.GetLabels()["example.com/by"] != "policy") {
				err = fmt.Errorf("got labels %v, want team=a and example.com/by=policy", created.GetLabels())
			}
			return err
		})
	}
}

// TestPolicyStatusReportsTypeErrors checks that the status of a policy lists expressions with type errors.
// Expressions that do not compile are rejected.
func TestPolicyStatusReportsTypeErrors(t *testing.T) {
	client := clientset(t, start(t).LoopbackConfig()).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	policy := decode[admissionregistrationv1.ValidatingAdmissionPolicy](t, validatingPolicy)
	policy.Spec.MatchConstraints.ResourceRules[0].APIGroups = []string{""}
	policy.Spec.MatchConstraints.ResourceRules[0].Resources = []string{"configmaps"}
	policy.Spec.Validations[0].Expression = "object.dota.size() > 0"
	if _, err := client.Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the type check", func(ctx context.Context) error {
		checked, err := client.Get(ctx, policy.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if s := checked.Status; s.TypeChecking == nil || len(s.TypeChecking.ExpressionWarnings) != 1 || !strings.Contains(s.TypeChecking.ExpressionWarnings[0].Warning, "undefined field 'dota'") {
			return fmt.Errorf("got status %+v, want one warning with undefined field 'dota'", s)
		}
		return nil
	})
	policy.Name = "broken"
	policy.Spec.Validations[0].Expression = "object.metadata.name ="
	_, err := client.Create(t.Context(), policy, metav1.CreateOptions{})
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.validations[0].expression") || !strings.Contains(err.Error(), "Syntax error") {
		t.Errorf("policy with a broken expression: %v, want a syntax error", err)
	}
}
