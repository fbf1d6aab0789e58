package apiserver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/berthproject/berth/apiserver/componentstatus"
)

// TestComponentStatusesReportChecks checks that the statuses are those of the checks. Each response has the
// deprecation warning of Kubernetes.
func TestComponentStatusesReportChecks(t *testing.T) {
	server := start(t)
	server.SetComponentCheck(componentstatus.Scheduler, func(context.Context) error { return nil })
	server.SetComponentCheck(componentstatus.ControllerManager, func(context.Context) error { return errors.New("no leader") })
	var messages []string
	config := server.LoopbackConfig()
	config.WarningHandler = warnings(func(message string) { messages = append(messages, message) })
	statuses := clientset(t, config).CoreV1().ComponentStatuses()
	list, err := statuses.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range list.Items {
		c := list.Items[i].Conditions[0]
		got = append(got, list.Items[i].Name+" "+string(c.Type)+"="+string(c.Status)+" "+c.Message)
	}
	if want := []string{"controller-manager Healthy=False no leader", "etcd-0 Healthy=True ok", "scheduler Healthy=True ok"}; !slices.Equal(got, want) {
		t.Errorf("got statuses %q, want %q", got, want)
	}
	if want := "v1 ComponentStatus is deprecated in v1.19+"; !slices.Contains(messages, want) {
		t.Errorf("got warnings %q, want %q", messages, want)
	}
	status, err := statuses.Get(t.Context(), "etcd-0", metav1.GetOptions{})
	if err != nil || status.Name != "etcd-0" {
		t.Errorf("get of etcd-0: got %v and error %v, want etcd-0", status, err)
	}
	if _, err := statuses.Get(t.Context(), "etcd-1", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get of an unknown component: %v, want 404", err)
	}
	list, err = statuses.List(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=scheduler"})
	if err != nil || len(list.Items) != 1 || list.Items[0].Name != "scheduler" {
		t.Errorf("list by name: got %v and error %v, want scheduler", list, err)
	}
	if list, err = statuses.List(t.Context(), metav1.ListOptions{LabelSelector: "a=b"}); err != nil || len(list.Items) != 0 {
		t.Errorf("list by label: got %v and error %v, want none", list, err)
	}
}

// TestComponentStatusIsPrintedAsTable checks that the server returns the table that kubectl prints.
func TestComponentStatusIsPrintedAsTable(t *testing.T) {
	server := start(t)
	server.SetComponentCheck(componentstatus.Scheduler, func(context.Context) error { return errors.New("stuck") })
	config := server.LoopbackConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, config.Host+"/api/v1/componentstatuses/scheduler", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(body), `"cells":["scheduler","Unhealthy","stuck",""]`) {
		t.Errorf("table: got %s and error %v, want a row of the unhealthy scheduler", body, err)
	}
}
