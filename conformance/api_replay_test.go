package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// vectorReplay is a vector that is being replayed.
type vectorReplay struct {
	server     *apiServer
	ns, suffix string // values of $ns and $u in the vector
	responses  []any  // of the steps so far
}

// replay creates a namespace, sends the steps in order, compares the responses and deletes the created objects.
// It returns the differences.
func (s *apiServer) replay(v apiVector) []string {
	s.replays++
	suffix := strings.ReplaceAll(fmt.Sprintf("%6s", strconv.FormatInt(int64(s.replays), 36)), " ", "0")
	r := &vectorReplay{server: s, suffix: suffix, ns: "conf-" + suffix}
	if code, _, body := r.send("POST", "/api/v1/namespaces", "application/json", nil, []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+r.ns+`"}}`)); code != http.StatusCreated {
		return []string{fmt.Sprintf("creating namespace %s: %d %s", r.ns, code, body)}
	}
	defer r.cleanup(v.Cleanup)
	var mismatches []string
	for i, step := range v.Steps {
		response, err := r.step(step)
		if err != nil {
			return append(mismatches, fmt.Sprintf("step %d: %v", i, err))
		}
		for _, difference := range r.compare(step.Expect, response) {
			mismatches = append(mismatches, fmt.Sprintf("step %d %s %s: %s", i, step.Method, step.Path, difference))
		}
	}
	return mismatches
}

// step sends a request and returns the response. The method COMPACT compacts the etcd store instead.
func (r *vectorReplay) step(step apiStep) (apiResponse, error) {
	body := []byte(r.expand(string(step.Body)))
	var text string
	if json.Unmarshal(body, &text) == nil {
		body = []byte(text) // a string is sent unchanged
	}
	if step.Method == "COMPACT" {
		r.responses = append(r.responses, nil)
		return apiResponse{Code: http.StatusOK}, r.compact(body)
	}
	contentType := step.ContentType
	if contentType == "" {
		contentType = "application/json"
	}
	code, header, raw := r.send(step.Method, r.expand(step.Path), contentType, step.Headers, body)
	if code == 0 {
		return apiResponse{}, fmt.Errorf("%s %s: %s", step.Method, step.Path, raw)
	}
	var object any
	_ = json.Unmarshal(raw, &object)
	r.responses = append(r.responses, object)
	return newAPIResponse(code, header, raw, step.Expect.Events != nil), nil
}

// send sends a request and returns the response: its code, headers and body. If there is no response the code is
// 0 and the body is the error.
func (r *vectorReplay) send(method, path, contentType string, headers map[string]string, body []byte) (int, http.Header, []byte) {
	req, err := http.NewRequestWithContext(context.Background(), method, r.server.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", contentType)
	} else {
		req.Body = nil
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "") // the recorder sent none, and it sets the field manager
	for k, v := range headers {
		req.Header.Set(k, r.expand(v))
	}
	resp, err := r.server.client.Do(req)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, nil, []byte(err.Error())
	}
	return resp.StatusCode, resp.Header, raw
}

// compact compacts the etcd store at the revision that the body names.
func (r *vectorReplay) compact(body []byte) error {
	var request struct {
		Revision string `json:"revision"`
		Physical bool   `json:"physical"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return err
	}
	revision, err := strconv.ParseInt(request.Revision, 10, 64)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var options []clientv3.CompactOption
	if request.Physical {
		options = append(options, clientv3.WithCompactPhysical())
	}
	_, err = r.server.etcd.Compact(ctx, revision, options...)
	return err
}

var (
	padding   = regexp.MustCompile(`\$pad(\d+)`)
	reference = regexp.MustCompile(`\$\{(\d+)\.([^}]+)\}`)
)

// expand replaces the placeholders of names, padding and fields of earlier responses in a text to send.
func (r *vectorReplay) expand(text string) string {
	text = padding.ReplaceAllStringFunc(text, func(m string) string {
		n, _ := strconv.Atoi(m[len("$pad"):])
		return strings.Repeat("x", n)
	})
	text = reference.ReplaceAllStringFunc(text, func(m string) string {
		found := reference.FindStringSubmatch(m)
		i, _ := strconv.Atoi(found[1])
		if i >= len(r.responses) {
			return m
		}
		return fmt.Sprint(lookup(r.responses[i], strings.Split(found[2], ".")))
	})
	return strings.NewReplacer("$ns", r.ns, "$u", r.suffix).Replace(text)
}

// lookup returns the value at a path of keys and indices, or nil.
func lookup(value any, path []string) any {
	for _, name := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

// cleanup deletes the namespace of the vector and the objects that the vector created outside of it.
func (r *vectorReplay) cleanup(paths []string) {
	for _, path := range append(paths, "/api/v1/namespaces/"+r.ns) {
		path = r.expand(path)
		r.send("DELETE", path, "application/json", nil, []byte(`{"gracePeriodSeconds":0}`))
		r.send("PATCH", path, "application/merge-patch+json", nil, []byte(`{"metadata":{"finalizers":null}}`))
	}
}
