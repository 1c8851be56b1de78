# Numbers of the Poisson, binomial and gamma distributions, one at a time. torch asks its generator in this order.
#
# A mean below 10 is drawn by multiplying uniform numbers until the product falls below exp(-mean). Larger means use
# transformed rejection: W. Hoermann, The transformed rejection method for generating Poisson random variables (1993),
# The generation of binomial random variates (1993). Gamma: Marsaglia and Tsang, A simple method for generating gamma
# variables (2000).

cdef enum:
    SMALL_MEAN = 10         # smaller means do not use rejection

cdef double SQUEEZE = <float>0.0331         # torch has it in float32


cdef double draw_poisson(Twister *twister, double rate) noexcept:
    cdef double limit, product, count = 0
    if rate >= SMALL_MEAN:
        return poisson_by_rejection(twister, rate)
    if rate == 0:
        return 0
    limit, product = exp(-rate), draw_double(twister)
    while product > limit:
        product *= draw_double(twister)
        count += 1
    return count


cdef double poisson_by_rejection(Twister *twister, double rate) noexcept:
    cdef double root = sqrt(rate), u, v, edge, count
    cdef double b = 0.931 + 2.53 * root
    cdef double a = -0.059 + 0.02483 * b
    cdef double squeeze = 0.9277 - 3.6224 / (b - 2), scale = 1.1239 + 1.1328 / (b - 3.4)
    while True:
        u = draw_double(twister) - 0.5
        v = draw_double(twister)
        edge = 0.5 - fabs(u)
        count = floor((2 * a / edge + b) * u + rate + 0.43)
        if edge >= 0.07 and v <= squeeze:
            return count
        if count < 0 or (edge < 0.013 and v > edge):
            continue
        if log(v * scale / (a / (edge * edge) + b)) <= count * log(rate) - rate - lgamma(count + 1):
            return count


cdef double draw_binomial(Twister *twister, double count, double prob) noexcept:
    if isnan(prob) or isnan(count):
        return count + prob
    if count <= 0 or prob <= 0:
        return 0
    if prob >= 1:
        return count
    if prob > 0.5:
        return count - draw_successes(twister, count, 1 - prob)
    return draw_successes(twister, count, prob)


cdef double draw_successes(Twister *twister, double count, double prob) noexcept:
    cdef double trials = 0, found = 0, scale = log1p(-prob)
    if count * prob >= SMALL_MEAN:
        return binomial_by_rejection(twister, count, prob)
    while True:
        trials += ceil(log(draw_double(twister)) / scale)       # up to the next success
        if trials > count:
            return found
        found += 1


cdef double binomial_by_rejection(Twister *twister, double count, double prob) noexcept:
    cdef double deviation = sqrt(count * prob * (1 - prob)), u, v, edge, found
    cdef double b = 1.15 + 2.53 * deviation
    cdef double a = -0.0873 + 0.0248 * b + 0.01 * prob
    cdef double squeeze = 0.92 - 4.2 / b, odds = prob / (1 - prob), alpha = (2.83 + 5.1 / b) * deviation
    cdef double middle = floor((count + 1) * prob)
    while True:
        u = draw_double(twister) - 0.5
        v = draw_double(twister)
        edge = 0.5 - fabs(u)
        found = floor((2 * a / edge + b) * u + count * prob + 0.5)
        if edge >= 0.07 and v <= squeeze:
            return found
        if 0 <= found <= count and (log(v * alpha / (a / (edge * edge) + b))
                                    <= log_ratio(count, odds, middle, found)):
            return found


cdef double log_ratio(double count, double odds, double middle, double found) noexcept:
    """log of the probability of `found` successes over that of `middle`."""
    return ((middle + 0.5) * log((middle + 1) / (odds * (count - middle + 1)))
            + (count + 1) * log((count - middle + 1) / (count - found + 1))
            + (found + 0.5) * log(odds * (count - found + 1) / (found + 1))
            + stirling_rest(middle) + stirling_rest(count - middle)
            - stirling_rest(found) - stirling_rest(count - found))


cdef double stirling_rest(double number) noexcept:
    """log(number!) minus Stirling's formula."""
    return lgamma(number + 1) - ((number + 0.5) * log(number + 1) - (number + 1) + 0.918938533204672742)


cdef struct KeptNormal:     # normal numbers come in pairs; this is the second, where it is present
    bint present
    double value


cdef double draw_normal(Twister *twister, KeptNormal *kept) noexcept:
    cdef double angle, radius
    if kept.present:
        kept.present = False
        return kept.value
    angle = 2 * PI * draw_double(twister)
    radius = sqrt(-2 * log1p(-draw_double(twister)))
    kept.present, kept.value = True, radius * sin(angle)
    return radius * cos(angle)


cdef double draw_gamma(Twister *twister, KeptNormal *kept, double d, double exponent) noexcept:
    """A gamma number of the shape d + 1/3. A shape below 1 is drawn as the next higher, and multiplied by a uniform
    number to the `exponent`, which is 0 for others; it is infinite for the shape 0."""
    cdef double scale = 1, c = 1 / sqrt(9 * d), x, y, u, v
    if exponent == INFINITY or isnan(d):
        return 0 if exponent == INFINITY else d
    if exponent != 0:
        scale = pow(1 - draw_double(twister), exponent)
    while True:
        x = draw_normal(twister, kept)
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y                   # torch's last bit, which a power would not give
        u = 1 - draw_double(twister)
        if u < 1 - SQUEEZE * pow(x, 4) or log(u) < 0.5 * x * x + d * (1 - v + log(v)):
            return scale * d * v
