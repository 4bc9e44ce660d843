// This file holds the Directory resource, which has no update, so that each change replaces it.
package main

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/pulumi/pulumi-go-provider/infer"
)

type Directory struct{}

type DirectoryArgs struct {
	Path string `pulumi:"path" provider:"replaceOnChanges"`
}

type DirectoryState struct {
	DirectoryArgs
}

func (Directory) Create(
	ctx context.Context, req infer.CreateRequest[DirectoryArgs],
) (infer.CreateResponse[DirectoryState], error) {
	created := infer.CreateResponse[DirectoryState]{ID: req.Inputs.Path, Output: DirectoryState{req.Inputs}}
	if req.DryRun {
		return created, nil
	}
	return created, os.MkdirAll(infer.GetConfig[Config](ctx).resolve(req.Inputs.Path), 0o755)
}

func (Directory) Read(
	ctx context.Context, req infer.ReadRequest[DirectoryArgs, DirectoryState],
) (infer.ReadResponse[DirectoryArgs, DirectoryState], error) {
	var found infer.ReadResponse[DirectoryArgs, DirectoryState]
	info, err := os.Stat(infer.GetConfig[Config](ctx).resolve(req.ID))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return found, nil
	} else if err != nil {
		return found, err
	}
	found.ID = req.ID
	found.Inputs = DirectoryArgs{Path: req.ID}
	found.State = DirectoryState{found.Inputs}
	return found, nil
}

// Delete fails on a folder that still has something in it.
func (Directory) Delete(ctx context.Context, req infer.DeleteRequest[DirectoryState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, remove(ctx, req.ID)
}
