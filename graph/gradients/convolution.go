package gradients

import "millrace/tfbridge"

// convolutionRules are the rules of convolutions.
var convolutionRules = map[string]rule{
	"Conv2D": func(c *call) []tfbridge.Output {
		return convolution(c, "Conv2DBackpropInput", "Conv2DBackpropFilter", "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu")
	},
	"DepthwiseConv2dNative": func(c *call) []tfbridge.Output {
		return convolution(c, "DepthwiseConv2dNativeBackpropInput", "DepthwiseConv2dNativeBackpropFilter", "strides", "padding", "explicit_paddings", "data_format", "dilations")
	},
	"Conv3D": func(c *call) []tfbridge.Output {
		return convolution(c, "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2", "strides", "padding", "data_format", "dilations")
	},
	"Conv2DBackpropInput": func(c *call) []tfbridge.Output {
		return transposed(c, "Conv2D", "Conv2DBackpropFilter", "strides", "padding", "explicit_paddings", "data_format", "dilations", "use_cudnn_on_gpu")
	},
	"Conv3DBackpropInputV2": func(c *call) []tfbridge.Output {
		return transposed(c, "Conv3D", "Conv3DBackpropFilterV2", "strides", "padding", "data_format", "dilations")
	},
}

// convolution returns the derivatives of a convolution of input and filter.
func convolution(c *call, input, filter string, attrs ...string) []tfbridge.Output {
	a := c.attrs(attrs...)
	return []tfbridge.Output{
		c.lazy(0, func() tfbridge.Output {
			return c.setShape(c.fa(input, a, c.shape(c.x(0)), c.x(1), c.d(0)), c.x(0))
		}),
		c.lazy(1, func() tfbridge.Output {
			return c.setShape(c.fa(filter, a, c.x(0), c.shape(c.x(1)), c.d(0)), c.x(1))
		}),
	}
}

// transposed returns the derivatives of a transposed convolution of a size, filter and input,
// which is the derivative of a convolution. Its own derivative is that convolution.
func transposed(c *call, convolution, filter string, attrs ...string) []tfbridge.Output {
	a := c.attrs(attrs...)
	return []tfbridge.Output{
		{},
		c.lazy(1, func() tfbridge.Output { return c.fa(filter, a, c.d(0), c.shape(c.x(1)), c.x(2)) }),
		c.lazy(2, func() tfbridge.Output { return c.fa(convolution, a, c.d(0), c.x(1)) }),
	}
}

// poolingRules are the rules of pooling and of resizing images.
var poolingRules = map[string]rule{
	"MaxPool": one(func(c *call) tfbridge.Output {
		return maxPool(c, "MaxPoolGrad", "ksize", "strides", "padding", "explicit_paddings", "data_format")
	}),
	"MaxPool3D": one(func(c *call) tfbridge.Output {
		return maxPool(c, "MaxPool3DGrad", "ksize", "strides", "padding", "data_format")
	}),
	"MaxPoolV2": one(func(c *call) tfbridge.Output {
		return c.fa("MaxPoolGradV2", c.attrs("padding", "data_format"), c.x(0), c.y(0), c.d(0), c.x(1), c.x(2))
	}),
	"AvgPool":   one(func(c *call) tfbridge.Output { return avgPool(c, "AvgPoolGrad") }),
	"AvgPool3D": one(func(c *call) tfbridge.Output { return avgPool(c, "AvgPool3DGrad") }),
	"ResizeBilinear": one(func(c *call) tfbridge.Output {
		return c.fa("ResizeBilinearGrad", c.attrs("align_corners", "half_pixel_centers"), c.d(0), c.x(0))
	}),
	"ResizeBicubic": one(func(c *call) tfbridge.Output {
		return c.fa("ResizeBicubicGrad", c.attrs("align_corners", "half_pixel_centers"), c.d(0), c.x(0))
	}),
	"ResizeNearestNeighbor": one(func(c *call) tfbridge.Output {
		size := c.f("Slice", c.shape(c.x(0)), c.Const([]int32{1}), c.Const([]int32{2}))
		return c.setShape(c.fa("ResizeNearestNeighborGrad", c.attrs("align_corners", "half_pixel_centers"), c.d(0), size), c.x(0))
	}),
}

// maxPool returns the derivative of a maximum over windows.
func maxPool(c *call, op string, attrs ...string) tfbridge.Output {
	return c.fa(op, c.attrs(attrs...), c.x(0), c.y(0), c.d(0))
}

// avgPool returns the derivative of a mean over windows.
func avgPool(c *call, op string) tfbridge.Output {
	return c.setShape(c.fa(op, c.attrs("ksize", "strides", "padding", "data_format"), c.shape(c.x(0)), c.d(0)), c.x(0))
}
