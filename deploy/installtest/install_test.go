package installtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/loader"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
)

const namespace = "kube-system"

// helm returns Helm's configuration for a cluster.
func helm(t *testing.T, c *cluster) *action.Configuration {
	t.Helper()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig = &c.kubeconfig
	ns := namespace
	flags.Namespace = &ns
	configuration := action.NewConfiguration()
	if err := configuration.Init(flags, namespace, "secrets"); err != nil {
		t.Fatal(err)
	}
	return configuration
}

// TestInstallUpgradeUninstall checks that the chart can be installed with its default values, upgraded with each component
// and its monitoring enabled, and uninstalled. Berth's API server serves Holds itself, so the definition is skipped.
func TestInstallUpgradeUninstall(t *testing.T) {
	c := start(t)
	chart, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	install := action.NewInstall(helm(t, c))
	install.ReleaseName, install.Namespace, install.SkipCRDs = "berth", namespace, true
	install.WaitStrategy, install.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := install.Run(chart, nil); err != nil {
		t.Fatalf("helm install: %v", err)
	}
	checkSpread(t, c, "berth-scheduler")

	monitoring := createMonitoringDefinitions(t, c)
	upgrade := action.NewUpgrade(helm(t, c))
	upgrade.Namespace, upgrade.SkipCRDs = namespace, true
	upgrade.WaitStrategy, upgrade.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := upgrade.Run("berth", chart, allValues()); err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
	checkSpread(t, c, "berth-controller")
	checkMonitors(t, c, monitoring)
	guards, err := c.client.AppsV1().DaemonSets(namespace).Get(t.Context(), "berth-guard", metav1.GetOptions{})
	if err != nil || guards.Status.NumberReady != 3 {
		t.Errorf("berth-guard has %d ready pods (error %v), want 3", guards.Status.NumberReady, err)
	}

	uninstall := action.NewUninstall(helm(t, c))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := uninstall.Run("berth"); err != nil {
		t.Fatalf("helm uninstall: %v", err)
	}
	waitUntil(t, "all pods are deleted", func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=berth"})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods still exist", len(pods.Items))
		}
		return err
	})
}

// checkSpread checks that the two replicas of a component run on different nodes, and that the disruption budget of the
// component allows one eviction.
func checkSpread(t *testing.T, c *cluster, app string) {
	t.Helper()
	pods, err := c.client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 || pods.Items[0].Spec.NodeName == pods.Items[1].Spec.NodeName {
		t.Errorf("%s has %d pods on nodes %q, want 2 on different nodes", app, len(pods.Items), nodesOf(pods.Items))
	}
	waitUntil(t, "the budget of "+app+" allows one eviction", func(ctx context.Context) error {
		budget, err := c.client.PolicyV1().PodDisruptionBudgets(namespace).Get(ctx, app, metav1.GetOptions{})
		if err == nil && budget.Status.DisruptionsAllowed != 1 {
			err = fmt.Errorf("%d evictions are allowed, want 1", budget.Status.DisruptionsAllowed)
		}
		return err
	})
}

func nodesOf(pods []corev1.Pod) (nodes []string) {
	for _, p := range pods {
		nodes = append(nodes, p.Spec.NodeName)
	}
	return nodes
}
