package installtest

import (
	"context"
	"fmt"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

var (
	definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	monitors    = monitoringv1.SchemeGroupVersion.WithResource("servicemonitors")
	rules       = monitoringv1.SchemeGroupVersion.WithResource("prometheusrules")
)

// TestMonitoringObjectsAreValid checks that the operator's types have each field of the rendered objects.
func TestMonitoringObjectsAreValid(t *testing.T) {
	rendered, err := render(t, "berth", allValues())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, o := range decode(t, []byte(rendered.Manifest)) {
		var object runtime.Object
		switch o.GetKind() {
		case "ServiceMonitor":
			object = &monitoringv1.ServiceMonitor{}
		case "PrometheusRule":
			object = &monitoringv1.PrometheusRule{}
		default:
			continue
		}
		found[o.GetKind()]++
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, object, true); err != nil {
			t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	if found["ServiceMonitor"] != 3 || found["PrometheusRule"] != 1 {
		t.Errorf("the chart renders %v, want 3 ServiceMonitors and 1 PrometheusRule", found)
	}
}

// createMonitoringDefinitions creates the definitions of the Prometheus operator and waits until they are served.
func createMonitoringDefinitions(t *testing.T, c *cluster) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range read(t, "testdata/monitoring-crds.yaml") {
		if _, err := client.Resource(definitions).Create(t.Context(), o, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatal(err)
		}
	}
	waitUntil(t, "the definitions are served", func(ctx context.Context) error {
		if _, err := client.Resource(monitors).List(ctx, metav1.ListOptions{}); err != nil {
			return err
		}
		_, err := client.Resource(rules).List(ctx, metav1.ListOptions{})
		return err
	})
	return client
}

// checkMonitors checks that each ServiceMonitor selects one Service that has its port and ready endpoints.
func checkMonitors(t *testing.T, c *cluster, client dynamic.Interface) {
	t.Helper()
	list, err := client.Resource(monitors).Namespace(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 3 {
		t.Fatalf("got %d ServiceMonitors (error %v), want 3", len(list.Items), err)
	}
	for i := range list.Items {
		var m monitoringv1.ServiceMonitor
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &m); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "ServiceMonitor "+m.Name+" has targets", func(ctx context.Context) error {
			return findTargets(ctx, c, &m)
		})
	}
	if list, err := client.Resource(rules).Namespace(namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("got %d PrometheusRules (error %v), want 1", len(list.Items), err)
	}
}

// findTargets returns an error unless Prometheus would find targets for a ServiceMonitor.
func findTargets(ctx context.Context, c *cluster, m *monitoringv1.ServiceMonitor) error {
	selector := labels.SelectorFromSet(m.Spec.Selector.MatchLabels).String()
	services, err := c.client.CoreV1().Services(m.Namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return err
	}
	if len(services.Items) != 1 {
		return fmt.Errorf("selector %s selects %d Services, want 1", selector, len(services.Items))
	}
	slices, err := c.client.DiscoveryV1().EndpointSlices(m.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + services.Items[0].Name})
	if err != nil {
		return err
	}
	for _, s := range slices.Items {
		for _, port := range s.Ports {
			if port.Name == nil || *port.Name != m.Spec.Endpoints[0].Port {
				continue
			}
			for _, e := range s.Endpoints {
				if e.Conditions.Ready != nil && *e.Conditions.Ready {
					return nil
				}
			}
		}
	}
	return fmt.Errorf("Service %s has no ready endpoint with port %s", services.Items[0].Name, m.Spec.Endpoints[0].Port)
}
