package main

import (
	"context"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// wiretap stands between a program and the cloud, and notes what is called.
type wiretap struct {
	t     *testing.T
	mu    sync.Mutex
	calls map[string]bool // methods; a Commit and the Write stream by each kind of write
}

// called lists the methods that were called, sorted.
func (w *wiretap) called() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.calls))
}

func (w *wiretap) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls[call] = true
}

// grpc listens in front of a gRPC server and returns its own address.
func (w *wiretap) grpc(server string) string {
	w.t.Helper()
	conn, err := grpc.NewClient(server, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		w.t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	tap := grpc.NewServer(grpc.ForceServerCodecV2(frames{}), grpc.UnknownServiceHandler(func(_ any, down grpc.ServerStream) error {
		return w.relay(conn, down)
	}))
	served := make(chan error, 1)
	go func() { served <- tap.Serve(lis) }() // ends with Stop
	w.t.Cleanup(func() {
		tap.Stop()
		if err := errors.Join(<-served, conn.Close()); err != nil {
			w.t.Error(err)
		}
	})
	return lis.Addr().String()
}

// relay carries one call in both directions.
func (w *wiretap) relay(conn *grpc.ClientConn, down grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(down)
	md, _ := metadata.FromIncomingContext(down.Context())
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(down.Context(), md))
	defer cancel()
	desc := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	up, err := conn.NewStream(ctx, desc, method, grpc.ForceCodecV2(frames{}))
	if err != nil {
		return err
	}
	go func() { // ends with the call
		for {
			var f []byte
			switch err := down.RecvMsg(&f); {
			case errors.Is(err, io.EOF):
				_ = up.CloseSend() // it never fails
				return
			case err != nil:
				return
			}
			w.noteRequest(path.Base(method), f)
			if err := up.SendMsg(&f); err != nil {
				return // RecvMsg says why
			}
		}
	}()
	for {
		var f []byte
		switch err := up.RecvMsg(&f); {
		case errors.Is(err, io.EOF):
			down.SetTrailer(up.Trailer())
			return nil
		case err != nil:
			return err
		}
		if err := down.SendMsg(&f); err != nil {
			return err
		}
	}
}

// noteRequest tells the writes of a commit apart as Firestore's permissions do.
func (w *wiretap) noteRequest(method string, message []byte) {
	if method != "Commit" {
		w.note(method)
		return
	}
	var req firestorepb.CommitRequest
	if err := proto.Unmarshal(message, &req); err != nil {
		w.t.Errorf("read a commit: %v", err)
	}
	for _, write := range req.GetWrites() {
		exists, conditional := write.GetCurrentDocument().GetConditionType().(*firestorepb.Precondition_Exists)
		switch {
		case write.GetDelete() != "":
			w.note("Commit delete")
		case conditional && !exists.Exists:
			w.note("Commit create")
		case write.GetCurrentDocument().GetConditionType() != nil:
			w.note("Commit update")
		default:
			w.note("Commit create")
			w.note("Commit update")
		}
	}
}

// http listens in front of an HTTP server and returns its own address.
func (w *wiretap) http(server string) string {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	transport := &http.Transport{}
	proxy.Transport = transport
	tap := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, req *http.Request) {
		w.note(path.Base(req.URL.Path))
		proxy.ServeHTTP(rw, req)
	}))
	w.t.Cleanup(func() {
		tap.Close()
		transport.CloseIdleConnections()
	})
	return strings.TrimPrefix(tap.URL, "http://")
}

// frames leaves messages as they travel.
type frames struct{}

func (frames) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (frames) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (frames) Name() string { return "proto" }
