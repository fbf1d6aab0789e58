package reports

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Names of the reports of a node's agent.
const (
	DiskReport     = "disk"
	PressureReport = "pressure"
)

const (
	// maxAgentReport is the maximum size of a report in bytes. A node must not exhaust the memory of its readers.
	maxAgentReport = 16 << 20
	// maxAgentMessage is the number of bytes to which an error message is truncated.
	maxAgentMessage = 500
)

// limitedTransport limits responses to maxAgentReport.
type limitedTransport struct{ http.RoundTripper }

func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxAgentReport)
	}
	return response, err
}

// ReadAgentReport requests a report from the node's agent, through the API server.
func ReadAgentReport(ctx context.Context, config *rest.Config, node, reportName string) ([]byte, error) {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	config.Wrap(func(t http.RoundTripper) http.RoundTripper { return limitedTransport{t} })
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	data, err := client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix(reportName).DoRaw(ctx)
	if err == nil {
		return data, nil
	}
	// The API server answers with a Status object, the agent with plain text.
	var status *apierrors.StatusError
	if message := strings.TrimSpace(string(data)); errors.As(err, &status) && message != "" && !strings.HasPrefix(message, "{") {
		if len(message) > maxAgentMessage {
			message = strings.ToValidUTF8(message[:maxAgentMessage], "") + "…"
		}
		status.ErrStatus.Message = message
		if status.ErrStatus.Code == http.StatusUnauthorized { // the agent refuses the API server, not the user
			status.ErrStatus.Code = http.StatusBadGateway
		}
	}
	return nil, fmt.Errorf("node %s: requesting the %s report: %w", node, reportName, err)
}

// NodePressure returns the output of `berth explain node NAME --pressure -o json`.
func NodePressure(ctx context.Context, config *rest.Config, node string) ([]byte, error) {
	return ReadAgentReport(ctx, config, node, PressureReport)
}

// NodeDisk returns the output of `berth explain node NAME --disk -o json`.
func NodeDisk(ctx context.Context, config *rest.Config, node string) ([]byte, error) {
	return ReadAgentReport(ctx, config, node, DiskReport)
}
