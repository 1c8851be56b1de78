"""Views, in-place operators and leaves: what is allowed, what backward makes of it, beside torch."""
import pytest
from compared import Cases, compare

import mindtorch

CASES = Cases()
case = CASES


@case
def write_to_a_leaf(t, make):
    make(2).add_(1)


@case
def write_to_a_view_of_a_leaf(t, make):
    make(2)[0].add_(1)


@case
def assign_into_a_leaf(t, make):
    make(2)[0] = 3.


@case
def write_to_a_leaf_under_no_grad(t, make):
    a = make(2)
    with t.no_grad():
        a.mul_(2)
        a[0] = 1.
    a.sum().backward()
    return a, a._version


@case
def views_made_without_gradients_are_used(t, make):
    """What is made of them requires a gradient, as they say of themselves, and leads nowhere."""
    found = []
    for base in (make(2, 3), make(2, 3) * 2):
        for mode in (t.no_grad, t.inference_mode):
            with mode():
                view = base.t()
            for made in (view * 3, view.exp(), t.cat([view, view]), view.clone().mul_(2), view.reshape(-1), view[1:]):
                made.sum().backward()
                found.append((made.requires_grad, made.is_leaf))
    return found


@case
def leaf_that_needs_no_gradient_takes_one(t, make):
    a, b = make.zeros(2), make(2)
    a.add_(b)
    (a * a).sum().backward()
    return a.is_leaf, a.requires_grad, b.grad, a.grad_fn.name()


@case
def copy_into_a_leaf(t, make):
    a = make(2)
    a.copy_(make(2, seed=1))


@case
def base_learns_of_a_write_to_its_view(t, make):
    a, b = make.zeros(3, 2), make(2)
    v = a[1]
    v.copy_(b)
    return a.requires_grad, a.grad_fn.name(), v.requires_grad, v.is_leaf, a._version, v._base is a


@case
def view_learns_of_a_write_to_its_base(t, make):
    a = make(3, 2) * 1
    v = a[1]
    before = v.grad_fn.name()
    a.mul_(2)
    (v * v).sum().backward()
    return before, v.grad_fn.name()


@case
def view_made_before_its_base_required_a_gradient(t, make):
    a, b = make.zeros(3, 2), make(3, 2)
    v = a[1]
    a.add_(b)
    (v * v).sum().backward()
    return v.requires_grad, b.grad


@case
def views_of_views(t, make):
    a = make(4, 4) * 1
    v = a[1:]
    w = v[:, 1:]
    x = w.t()
    x.mul_(make(3, 3, seed=2))
    w.add_(1)
    v[0].fill_(0.5)
    result = (a * a).sum() + (x ** 3).sum()
    names = [s.grad_fn.name() for s in (a, v, w, x)]
    result.backward()
    return names, x._base is a, w._base is a


@case
def gradients_through_views_of_views(t, make):
    leaf, other = make(4, 4), make(3, 3, seed=2)
    a = leaf * 1
    v = a[1:]
    w = v[:, 1:]
    x = w.t()
    x.mul_(other)
    v.mul_(2)
    w.add_(1)
    ((a * a).sum() + (x ** 3).sum()).backward()
    return leaf.grad, other.grad


@case
def assignments(t, make):
    leaf, other = make(4, 3), make(3, seed=1)
    a = leaf * 1
    a[0] = other
    a[1:3, 1] = other[:2]
    a[3] = 2.
    a[:, 0] = a[:, 1] + other[0]
    (a ** 2).sum().backward()
    return leaf.grad, other.grad


@case
def broadcast_into_a_view(t, make):
    leaf, other = make(4, 3), make(1, seed=1)
    a = leaf * 1
    a[:, 1:].mul_(other)
    a[0].copy_(other)
    a.sum().backward()
    return leaf.grad, other.grad


@case
def write_to_one_of_several_views(t, make):
    (make(4, 2) * 1).unbind(0)[1].mul_(2)


@case
def write_to_a_part(t, make):
    (make(4, 2) * 1).split(2)[0].mul_(2)


@case
def write_to_a_chunk(t, make):
    (make(4, 2) * 1).chunk(2)[0].mul_(2)


@case
def write_to_a_view_of_a_part(t, make):
    (make(4, 2) * 1).split(2)[0][0].mul_(2)


@case
def write_to_a_part_under_no_grad(t, make):
    a = make(4, 2) * 1
    with t.no_grad():
        a.unbind(0)[1].mul_(2)
    return a


@case
def write_to_the_base_of_parts(t, make):
    leaf = make(4, 2)
    a = leaf * 1
    parts = a.unbind(0)
    a.mul_(2)
    (parts[1] * parts[1]).sum().backward()
    return leaf.grad


@case
def write_with_grad_to_a_view_made_without(t, make):
    a = make(3) * 1
    with t.no_grad():
        v = a[1:]
    v.mul_(2)


@case
def read_a_view_made_without_grad(t, make):
    a = make(3) * 1
    with t.no_grad():
        v = a[1:]
    return v.requires_grad, v.grad_fn, v.is_leaf, v._base is a


@case
def view_of_a_leaf_made_without_grad(t, make):
    a = make(3)
    with t.no_grad():
        v = a[1:]
    v.mul_(2)


@case
def detached_shares(t, make):
    a = make(3) * 1
    d = a.detach()
    d.zero_()
    return a, d.requires_grad, d.is_leaf, d.grad_fn, a.data_ptr() == d.data_ptr()


@case
def detach_in_place(t, make):
    a = make(3)
    b = a * 2
    c = b.exp()
    b.detach_()
    (b * c).sum().backward()
    return a.grad, b.is_leaf, b.requires_grad, b.grad_fn


@case
def detach_a_view_in_place(t, make):
    (make(3) * 1)[0].detach_()


@case
def detach_a_leaf_in_place(t, make):
    a = make(3)
    return a.detach_() is a, a.requires_grad


@case
def requires_grad_set(t, make):
    a = make(3, grad=False)
    found = [a.requires_grad]
    a.requires_grad = True
    found.append(a.requires_grad)
    a.requires_grad_(False)
    found.append(a.requires_grad)
    return found, a.requires_grad_() is a


@case
def requires_grad_of_a_result(t, make):
    b = make(3) * 2
    b.requires_grad = True
    b.requires_grad = False


@case
def requires_grad_of_integers(t, make):
    t.arange(3, device=make.device).requires_grad_()


@case
def requires_grad_set_to_nonsense(t, make):
    make(3).requires_grad = "yes"


@case
def requires_grad_of_a_view_of_a_result(t, make):
    (make(3) * 2)[0].requires_grad_(False)


@case
def factories(t, make):
    place = {"device": make.device, "requires_grad": True}
    like = make(2)
    return [t.ones(2, **place).requires_grad, t.zeros_like(like).requires_grad,
            t.zeros_like(like, requires_grad=True).requires_grad, like.new_ones(2).requires_grad,
            t.tensor(1., requires_grad=True).is_leaf, t.full((2,), 1., **place).requires_grad]


@case
def out_with_gradients(t, make):
    t.add(make(2), make(2), out=make.zeros(2))


@case
def out_that_requires_a_gradient(t, make):
    t.add(make(2, grad=False), make(2, grad=False), out=make(2, seed=5))


@case
def out_under_no_grad(t, make):
    out = make.zeros(2)
    with t.no_grad():
        t.add(make(2), make(2), out=out)
    return out


@case
def every_in_place_operator(t, make):
    leaf, other = make(2, 3), make(2, 3, seed=1)
    y = leaf.abs() + 1
    y.add_(other).mul_(other).sub_(other, alpha=2).div_(other.abs() + 1)
    y.neg_().abs_().add_(1).sqrt_().log_().exp_().sigmoid_().tanh_().pow_(2).clamp_(0.1, 0.9).reciprocal_().relu_()
    y.square_().rsqrt_()
    y.sum().backward()
    return leaf.grad, other.grad, y._version


@case
def in_place_of_itself(t, make):
    leaf = make(2, 3)
    y = leaf * 1
    y.mul_(y)
    y.add_(y)
    y.sum().backward()
    return leaf.grad


@case
def in_place_number(t, make):
    leaf = make(2, 3)
    y = leaf * 1
    y += 2
    y *= 3
    y -= leaf
    y /= 2
    y **= 2
    y.sum().backward()
    return leaf.grad


@case
def zero_and_fill(t, make):
    leaf = make(2, 3)
    y = leaf * 1
    y.zero_()
    y.add_(leaf)
    y[0].fill_(2.)
    y[:, 1].zero_()
    y.sum().backward()
    return leaf.grad


@case
def in_place_transposes(t, make):
    leaf = make(2, 3)
    y = leaf * 1
    y.t_()
    y.unsqueeze_(0)
    y.squeeze_(0)
    y.transpose_(0, 1)
    (y * y).sum().backward()
    return leaf.grad, y.shape


@case
def expanded_view_written(t, make):
    (make(1, 3) * 1).expand(2, 3).add_(1)


@case
def data_assigned(t, make):
    a = make(2)
    a.data = make(3, seed=2, grad=False)
    (a * a).sum().backward()
    return a, a.grad, a.is_leaf


@case
def gradient_layouts(t, make):
    found = []
    for reshape in (lambda x: x, lambda x: x.t(), lambda x: x[:, ::2], lambda x: x.permute(1, 0)[1:]):
        leaf = reshape(make(4, 4, grad=False)).detach().requires_grad_()
        (leaf.t() * 3).sum().backward()
        first = leaf.grad.stride()
        leaf.grad = None
        (leaf + leaf.detach().t().reshape(leaf.shape)).exp().sum().backward()
        found.append([first, leaf.grad.stride()])
        leaf.grad = None
        leaf.sum().backward()
        found.append(leaf.grad.stride())
    return found


@case
def gradients_share_nothing(t, make):
    a, b, c = make(3), make(3, seed=1), make(3, seed=2)
    given = make.ones(3)
    h = a + b
    h.retain_grad()
    (h + c).backward(given)
    places = [a.grad.data_ptr(), b.grad.data_ptr(), c.grad.data_ptr(), given.data_ptr()]
    for one in (a, b, c):
        one.grad.zero_()
    return len(set(places)), given, a.grad, b.grad, c.grad


@case
def gradients_of_expanded_and_viewed(t, make):
    a, b = make(1, 3), make(3)
    (a.expand(2, 3) + b.view(1, 3)).sum().backward()
    a.grad.add_(1)
    return a.grad, b.grad


@case
def a_gradient_kept_by_a_hook_is_not_the_grad(t, make):
    a, seen = make(3), []
    a.register_hook(seen.append)
    (a * 2).sum().backward()
    a.grad.zero_()
    return seen, a.grad


@case
def as_strided_with_overlaps(t, make):
    a = make(6)
    windows = a.as_strided((4, 3), (1, 1))
    (windows * make(4, 3, seed=1, grad=False)).sum().backward()
    return a.grad


@case
def in_place_then_second_order(t, make):
    a, b = make(3), make(3, seed=1)
    y = a * 1
    y.mul_(b)
    y[1:].mul_(a[1:])
    first = t.autograd.grad((y ** 3).sum(), (a, b), create_graph=True)
    return first, t.autograd.grad((first[0] * first[1]).sum(), (a, b))


@case
def write_to_a_leaf_that_is_a_view(t, make):
    make.zeros(2, 3).reshape(3, 2).requires_grad_()[0].mul_(2)


@case
def assign_into_a_leaf_that_is_a_view(t, make):
    make.zeros(6).view(3, 2).requires_grad_()[:, True] = 2.


@case
def a_leaf_before_a_dtype(t, make):
    make(2).bitwise_and_(2)


@case
def a_leaf_before_a_shape(t, make):
    make(2)[:1].add_(make(3))


@case
def a_view_of_several_before_a_dtype(t, make):
    (make(2) * 1).split(1)[0].bitwise_or_(2)


@case
def logical_operators_write_to_leaves(t, make):
    return make(2).logical_or_(make(2)).detach()


@case
def floor_divide_has_no_derivative(t, make):
    a = make(3) // 2
    return a.requires_grad, a.grad_fn.name(), a.sum().backward()


@case
def floor_divide_of_a_number_has_no_derivative(t, make):
    (5 // make(3)).sum().backward()


@case
def scatter_with_a_product_has_no_derivative(t, make):
    a = make(3).scatter(0, t.tensor([1], device=make.device), 2., reduce="multiply")
    return a.requires_grad, a.sum().backward()


@case
def rounded_division_has_one(t, make):
    a = make(3)
    b = a.div(2, rounding_mode="floor")
    b.sum().backward()
    return a.grad, b.grad_fn.name()


@case
def magnitude_at_nan(t, make):
    a = t.tensor([float("nan"), 0., -1.], device=make.device, requires_grad=True)
    a.abs().square().sum().backward()
    return a.grad


def complex_factors(t, make):
    """Gradients of sums of products with complex alpha and beta."""
    def numbers(*shape, seed=0):
        values = make(*shape, seed=seed, grad=False, dtype="float64").cpu()
        return t.complex(values, values * 2 - 1).requires_grad_()

    a, v = numbers(2, 2), numbers(2)
    b, c = numbers(2, 2, 2), numbers(2, 2, 2, seed=1)
    factors = {"alpha": 2 + 3j, "beta": 1 - 2j}
    results = [a.addmm(b[0], c[0], **factors), b.baddbmm(b, c, **factors), a.addbmm(b, c, **factors),
               v.addmv(a, v, **factors), a.addr(v, v, **factors),
               t.sub(a, b[0], alpha=1j)]
    sum((r * r.conj()).real.sum() for r in results).backward()
    return [t.view_as_real(x.grad) for x in (a, v, b, c)]


@pytest.mark.quick
def test_complex_factors():
    """ACLNN has no complex matrix products."""
    compare(complex_factors, "cpu")


@case
def complex_powers_of_negative_numbers(t, make):
    a = t.tensor([0.5, -1.5, 2.])
    b = t.tensor([0.5 + 1j, 1 - 1j, 2], requires_grad=True)
    a.pow(b).abs().sum().backward()
    return t.view_as_real(b.grad)


@case
def powers_of_a_negative_number(t, make):
    a = t.tensor([-1., 2., 0.], device=make.device, requires_grad=True)
    t.pow(-2., a).sum().backward()
    return a.grad


@case
def spectra_of_an_expanded_leaf(t, make):
    """Its elements are one in memory, which the gradient of windows is that of."""
    leaf = t.tensor([1., 2.], device=make.device).narrow(0, 0, 1).expand(9).requires_grad_()
    t.stft(leaf, n_fft=6, hop_length=2, window=t.ones(6, device=make.device), center=False,
           return_complex=True).abs().square().sum().backward()
    return leaf.grad


@case
def writes_under_no_grad_to_views_of_a_leaf_that_is_a_view(t, make):
    """The views become views of the tensor that the leaf is a view of, which requires no gradient."""
    found = []
    for write in (lambda view: view.mul_(2), lambda view: view.unsqueeze_(0), lambda view: view):
        leaf = t.ones(3, device=make.device).reshape(3).requires_grad_()
        view, other = leaf[:2], leaf.view(-1)
        with t.no_grad():
            write(view)
        for each in (view, other, leaf):
            grad, = t.autograd.grad(each.sum(), leaf, allow_unused=True)
            found += [grad is None, each.requires_grad, each.is_leaf]
    return found


@pytest.mark.quick
@pytest.mark.parametrize("name", CASES)
def test_as_torch(name, device):
    compare(CASES[name], device)


@pytest.mark.parametrize("split", [lambda x: x.chunk(2, -1), lambda x: x.chunk(1), lambda x: x.split(3, -1)])
def test_parts_of_nothing_are_several_views(split, device):
    """Which no write may change that autograd records, as with parts that have elements."""
    part = split(mindtorch.ones(2, 0, device=device, requires_grad=True) * 2)[0]
    with pytest.raises(RuntimeError, match="is the output of a function that returns multiple views"):
        part.mul_(2)
