package installtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/loader"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
)

const (
	application = "web"
	// testExitCode is the exit code of the test that fails.
	testExitCode = 7
)

// TestApplicationChart installs, tests, upgrades, rolls back and uninstalls a chart with definitions, hooks, tests, an
// autoscaler, an Ingress, a NetworkPolicy and a ServiceMonitor.
func TestApplicationChart(t *testing.T) {
	c := start(t)
	chart := applicationChart(t)
	install := action.NewInstall(helm(t, c))
	install.ReleaseName, install.Namespace = application, namespace
	install.WaitStrategy, install.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := install.Run(chart, nil); err != nil {
		t.Fatalf("helm install: %v", err)
	}
	checkHooks(t, c, "pre-install", "post-install")
	checkApplication(t, c, 2)
	runTests(t, c, "")

	upgrade := action.NewUpgrade(helm(t, c))
	upgrade.Namespace = namespace
	upgrade.WaitStrategy, upgrade.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := upgrade.Run(application, chart, map[string]any{"replicas": 3, "testExitCode": testExitCode}); err != nil {
		t.Fatalf("helm upgrade: %v", err)
	}
	checkHooks(t, c, "pre-upgrade", "post-upgrade")
	checkApplication(t, c, 3)
	runTests(t, c, application+"-test")

	rollback := action.NewRollback(helm(t, c))
	rollback.WaitStrategy, rollback.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if err := rollback.Run(application); err != nil {
		t.Fatalf("helm rollback: %v", err)
	}
	checkHooks(t, c, "pre-rollback")
	checkApplication(t, c, 2)

	uninstall := action.NewUninstall(helm(t, c))
	uninstall.WaitStrategy, uninstall.Timeout = kube.StatusWatcherStrategy, 2*time.Minute
	if _, err := uninstall.Run(application); err != nil {
		t.Fatalf("helm uninstall: %v", err)
	}
	checkHooks(t, c, "pre-delete", "post-delete")
	checkUninstalled(t, c)
}

// applicationChart returns the chart of testdata/application with the definitions of the Prometheus operator.
func applicationChart(t *testing.T) *chartv2.Chart {
	t.Helper()
	loaded, err := loader.Load("testdata/application")
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := os.ReadFile("testdata/monitoring-crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	chart := loaded.(*chartv2.Chart)
	chart.Files = append(chart.Files, &common.File{Name: "crds/monitoring.yaml", Data: definitions})
	return chart
}

// checkHooks checks that the Jobs of the hooks have succeeded.
func checkHooks(t *testing.T, c *cluster, hooks ...string) {
	t.Helper()
	for _, hook := range hooks {
		job, err := c.client.BatchV1().Jobs(namespace).Get(t.Context(), application+"-"+hook, metav1.GetOptions{})
		if err != nil {
			t.Errorf("hook %s: %v", hook, err)
		} else if job.Status.Succeeded != 1 {
			t.Errorf("hook %s: status %+v, want 1 succeeded pod", hook, job.Status)
		}
	}
}

// runTests runs `helm test`, in which the test named failing must fail, or none if it is "".
func runTests(t *testing.T, c *cluster, failing string) {
	t.Helper()
	tests := action.NewReleaseTesting(helm(t, c))
	tests.Namespace, tests.Timeout = namespace, 2*time.Minute
	_, shutdown, err := tests.Run(application)
	err = errors.Join(err, shutdown())
	if failing == "" && err != nil || failing != "" && (err == nil || !strings.Contains(err.Error(), failing)) {
		t.Errorf("helm test: error %v, want failure of %q", err, failing)
	}
	if failing == "" {
		return
	}
	pod, err := c.client.CoreV1().Pods(namespace).Get(t.Context(), failing, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	containers := pod.Status.ContainerStatuses
	if pod.Status.Phase != corev1.PodFailed || len(containers) != 1 || containers[0].State.Terminated == nil || containers[0].State.Terminated.ExitCode != testExitCode {
		t.Errorf("helm test: pod %s has status %+v, want phase Failed and exit code %d", failing, pod.Status, testExitCode)
	}
}

// checkApplication checks the objects of the release: the Deployment has its replicas, and the autoscaler finds it.
func checkApplication(t *testing.T, c *cluster, replicas int32) {
	t.Helper()
	ctx := t.Context()
	d, err := c.client.AppsV1().Deployments(namespace).Get(ctx, application, metav1.GetOptions{})
	if err != nil || d.Status.AvailableReplicas != replicas {
		t.Errorf("Deployment: status %+v, error %v; want %d available replicas", d.Status, err, replicas)
	}
	if _, err := c.client.NetworkingV1().Ingresses(namespace).Get(ctx, application, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := c.client.NetworkingV1().NetworkPolicies(namespace).Get(ctx, application, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Resource(monitors).Namespace(namespace).Get(ctx, application, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	waitUntil(t, "the autoscaler reports the replicas", func(ctx context.Context) error {
		a, err := c.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).Get(ctx, application, metav1.GetOptions{})
		if err == nil && a.Status.CurrentReplicas != replicas {
			err = fmt.Errorf("%d replicas, want %d", a.Status.CurrentReplicas, replicas)
		}
		return err
	})
}

// checkUninstalled checks that the Deployment and its pods are deleted. Helm keeps definitions.
func checkUninstalled(t *testing.T, c *cluster) {
	t.Helper()
	waitUntil(t, "the pods are deleted", func(ctx context.Context) error {
		pods, err := c.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=" + application})
		if err == nil && len(pods.Items) > 0 {
			err = fmt.Errorf("%d pods still exist", len(pods.Items))
		}
		return err
	})
	if deployments, err := c.client.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{}); err != nil || len(deployments.Items) > 0 {
		t.Errorf("got %d Deployments (error %v), want none", len(deployments.Items), err)
	}
}
