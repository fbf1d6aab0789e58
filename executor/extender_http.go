package executor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/berthproject/berth/internal/config"
)

const (
	maxResponseBytes = 256 << 20 // bytes of a response, which can hold thousands of whole nodes
	maxQuotedBytes   = 200       // bytes of a response that an error quotes
)

// extender is the client of one extender.
type extender struct {
	config.Extender
	http        *http.Client
	maxResponse int64 // bytes
}

// statusError is a response other than 200 OK.
type statusError struct {
	code int
	body string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("response status %d %s: %q: want 200", e.code, http.StatusText(e.code), e.body)
}

// call posts a request to an extender and decodes the response. Errors name the extender and the verb.
func (e *extender) call(ctx context.Context, verb string, request, response any) error {
	if err := e.post(ctx, verb, request, response); err != nil {
		return e.wrapError(verb, err)
	}
	return nil
}

func (e *extender) wrapError(verb string, err error) error {
	return fmt.Errorf("extender %s: %s: %w", e.URL, verb, err)
}

func (e *extender) post(ctx context.Context, verb string, payload, result any) error {
	body, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL+"/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, maxQuotedBytes))
		return &statusError{response.StatusCode, string(bytes.TrimSpace(text))}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, e.maxResponse+1))
	if err != nil {
		return fmt.Errorf("reading response: %w", err)
	}
	if int64(len(text)) > e.maxResponse {
		return fmt.Errorf("response exceeds %d bytes", e.maxResponse)
	}
	if err := json.Unmarshal(text, result); err != nil {
		return fmt.Errorf("decoding response %q: %w", text[:min(len(text), maxQuotedBytes)], err)
	}
	return nil
}

// isDefiniteExtenderRejection reports whether an error proves that the extender did not execute the request.
func isDefiniteExtenderRejection(err error) bool {
	var status *statusError
	return errors.As(err, &status) && status.code < 500 && status.code != http.StatusRequestTimeout
}
