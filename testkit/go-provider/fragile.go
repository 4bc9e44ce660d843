// This file holds the Fragile resource, whose inputs decide which of its operations fail.
package main

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi-go-provider/infer"
)

type Fragile struct{}

type FragileArgs struct {
	FailOn  *string `pulumi:"failOn,optional"`
	Partial *bool   `pulumi:"partial,optional"`
	Note    *string `pulumi:"note,optional"`
}

type FragileState struct {
	FragileArgs
}

func (f *FragileArgs) Annotate(a infer.Annotator) {
	a.Describe(&f.FailOn, "The operation that fails: create, update, delete or read.")
	a.Describe(&f.Partial, "Whether the create leaves a resource that is not fully initialized.")
	a.Describe(&f.Note, "Free text, there to be changed.")
}

// fails reports whether the inputs ask for this operation to fail.
func (f FragileArgs) fails(operation string) error {
	if f.FailOn != nil && *f.FailOn == operation {
		return fmt.Errorf("%s fails as asked", operation)
	}
	return nil
}

func (Fragile) Create(
	_ context.Context, req infer.CreateRequest[FragileArgs],
) (infer.CreateResponse[FragileState], error) {
	created := infer.CreateResponse[FragileState]{ID: req.Name, Output: FragileState{req.Inputs}}
	if req.DryRun {
		return created, nil
	}
	if err := req.Inputs.fails("create"); err != nil {
		return infer.CreateResponse[FragileState]{}, err
	}
	if req.Inputs.Partial != nil && *req.Inputs.Partial {
		return created, infer.ResourceInitFailedError{Reasons: []string{"initialization fails as asked"}}
	}
	return created, nil
}

func (Fragile) Read(
	_ context.Context, req infer.ReadRequest[FragileArgs, FragileState],
) (infer.ReadResponse[FragileArgs, FragileState], error) {
	return infer.ReadResponse[FragileArgs, FragileState]{
		ID: req.ID, Inputs: req.Inputs, State: req.State,
	}, req.State.fails("read")
}

func (Fragile) Update(
	_ context.Context, req infer.UpdateRequest[FragileArgs, FragileState],
) (infer.UpdateResponse[FragileState], error) {
	if req.DryRun {
		return infer.UpdateResponse[FragileState]{Output: FragileState{req.Inputs}}, nil
	}
	return infer.UpdateResponse[FragileState]{Output: FragileState{req.Inputs}}, req.Inputs.fails("update")
}

func (Fragile) Delete(_ context.Context, req infer.DeleteRequest[FragileState]) (infer.DeleteResponse, error) {
	return infer.DeleteResponse{}, req.State.fails("delete")
}
