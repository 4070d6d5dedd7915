// As much of C++'s library as device code uses, and names for what only host code does.
#pragma once
#include "../nvir_cuda.h"
#include "../limits.h"
#include "../float.h"
namespace std {
using ::int8_t; using ::uint8_t; using ::int16_t; using ::uint16_t; using ::int32_t; using ::uint32_t; using ::int64_t; using ::uint64_t; using ::uintptr_t; using ::intptr_t;
using ::printf; using ::malloc; using ::free; using ::rand; using ::srand; using ::exit; using ::memcpy; using ::memset; using ::strcmp; using ::atoi; using ::atof; using ::strlen; using ::fprintf; using ::time;

template <class T, T v> struct integral_constant { static constexpr T value = v; typedef T value_type; typedef integral_constant type; __host__ __device__ constexpr operator T() const { return v; } };
typedef integral_constant<bool, true> true_type;
typedef integral_constant<bool, false> false_type;
template <bool c, class T = void> struct enable_if {}; template <class T> struct enable_if<true, T> { typedef T type; };
template <bool c, class T = void> using enable_if_t = typename enable_if<c, T>::type;
template <bool c, class A, class B> struct conditional { typedef A type; }; template <class A, class B> struct conditional<false, A, B> { typedef B type; };
template <bool c, class A, class B> using conditional_t = typename conditional<c, A, B>::type;
template <class A, class B> struct is_same : false_type {}; template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <class T> struct remove_reference { typedef T type; }; template <class T> struct remove_reference<T &> { typedef T type; }; template <class T> struct remove_reference<T &&> { typedef T type; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_const { typedef T type; }; template <class T> struct remove_const<const T> { typedef T type; };
template <class T> struct remove_cv { typedef T type; }; template <class T> struct remove_cv<const T> { typedef T type; }; template <class T> struct remove_cv<volatile T> { typedef T type; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using decay_t = remove_cv_t<remove_reference_t<T>>;
template <class T> struct is_floating_point : integral_constant<bool, __is_floating_point(T)> {}; template <class T> inline constexpr bool is_floating_point_v = __is_floating_point(T);
template <class T> struct is_integral : integral_constant<bool, __is_integral(T)> {}; template <class T> inline constexpr bool is_integral_v = __is_integral(T);
template <class T> struct is_signed : integral_constant<bool, __is_signed(T)> {}; template <class T> struct is_unsigned : integral_constant<bool, __is_unsigned(T)> {};
template <class T> struct is_arithmetic : integral_constant<bool, __is_arithmetic(T)> {}; template <class T> struct is_pointer : integral_constant<bool, __is_pointer(T)> {};
template <class T> struct make_unsigned { typedef __make_unsigned(T) type; }; template <class T> struct make_signed { typedef __make_signed(T) type; };
template <class T> T &&declval() noexcept;
template <class T> __host__ __device__ constexpr T &&forward(remove_reference_t<T> &v) noexcept { return static_cast<T &&>(v); }
template <class T> __host__ __device__ constexpr T &&forward(remove_reference_t<T> &&v) noexcept { return static_cast<T &&>(v); }
template <class T> __host__ __device__ constexpr remove_reference_t<T> &&move(T &&v) noexcept { return static_cast<remove_reference_t<T> &&>(v); }
template <class T> __host__ __device__ constexpr void swap(T &a, T &b) { T t = a; a = b; b = t; }
template <class T> __host__ __device__ constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> __host__ __device__ constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T> __host__ __device__ constexpr const T &clamp(const T &v, const T &l, const T &h) { return v < l ? l : h < v ? h : v; }
template <class T> struct plus { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a + b; } };
template <class T> struct minus { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a - b; } };
template <class T> struct multiplies { __host__ __device__ constexpr T operator()(const T &a, const T &b) const { return a * b; } };
template <class T> struct less { __host__ __device__ constexpr bool operator()(const T &a, const T &b) const { return a < b; } };
template <class T> struct greater { __host__ __device__ constexpr bool operator()(const T &a, const T &b) const { return a > b; } };
template <class A, class B> struct pair { A first; B second; pair() = default; __host__ __device__ constexpr pair(const A &a, const B &b) : first(a), second(b) {} };
template <class A, class B> __host__ __device__ constexpr pair<A, B> make_pair(A a, B b) { return pair<A, B>(a, b); }
template <class T, size_t N> struct array { T elements[N]; __host__ __device__ constexpr T &operator[](size_t i) { return elements[i]; } __host__ __device__ constexpr const T &operator[](size_t i) const { return elements[i]; } __host__ __device__ constexpr size_t size() const { return N; } __host__ __device__ T *data() { return elements; } __host__ __device__ T *begin() { return elements; } __host__ __device__ T *end() { return elements + N; } };
#define __NVIR_LIMITS(t, lo, least, hi, eps, whole) template <> struct numeric_limits<t> { static constexpr bool is_specialized = true, is_integer = whole, is_signed = static_cast<t>(-1) < static_cast<t>(0); __host__ __device__ static constexpr t min() { return lo; } __host__ __device__ static constexpr t lowest() { return least; } __host__ __device__ static constexpr t max() { return hi; } __host__ __device__ static constexpr t epsilon() { return eps; } __host__ __device__ static constexpr t infinity() { return 0; } __host__ __device__ static constexpr t quiet_NaN() { return 0; } };
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
__NVIR_LIMITS(int, INT_MIN, INT_MIN, INT_MAX, 0, true) __NVIR_LIMITS(unsigned, 0, 0, UINT_MAX, 0, true) __NVIR_LIMITS(long, LONG_MIN, LONG_MIN, LONG_MAX, 0, true) __NVIR_LIMITS(unsigned long, 0, 0, ULONG_MAX, 0, true) __NVIR_LIMITS(long long, LLONG_MIN, LLONG_MIN, LLONG_MAX, 0, true) __NVIR_LIMITS(unsigned long long, 0, 0, ULLONG_MAX, 0, true)
__NVIR_LIMITS(short, SHRT_MIN, SHRT_MIN, SHRT_MAX, 0, true) __NVIR_LIMITS(unsigned short, 0, 0, USHRT_MAX, 0, true) __NVIR_LIMITS(char, CHAR_MIN, CHAR_MIN, CHAR_MAX, 0, true) __NVIR_LIMITS(signed char, -128, -128, 127, 0, true) __NVIR_LIMITS(unsigned char, 0, 0, 255, 0, true)
#undef __NVIR_LIMITS
template <> struct numeric_limits<float> { static constexpr bool is_specialized = true, is_integer = false, is_signed = true; __host__ __device__ static constexpr float min() { return FLT_MIN; } __host__ __device__ static constexpr float lowest() { return -FLT_MAX; } __host__ __device__ static constexpr float max() { return FLT_MAX; } __host__ __device__ static constexpr float epsilon() { return FLT_EPSILON; } __host__ __device__ static constexpr float infinity() { return __builtin_inff(); } __host__ __device__ static constexpr float quiet_NaN() { return __builtin_nanf(""); } };
template <> struct numeric_limits<double> { static constexpr bool is_specialized = true, is_integer = false, is_signed = true; __host__ __device__ static constexpr double min() { return DBL_MIN; } __host__ __device__ static constexpr double lowest() { return -DBL_MAX; } __host__ __device__ static constexpr double max() { return DBL_MAX; } __host__ __device__ static constexpr double epsilon() { return DBL_EPSILON; } __host__ __device__ static constexpr double infinity() { return __builtin_inf(); } __host__ __device__ static constexpr double quiet_NaN() { return __builtin_nan(""); } };

// host code only: shapes, never run
template <class T> class initializer_list { const T *first; size_t count; public: constexpr initializer_list() : first(0), count(0) {} constexpr size_t size() const { return count; } constexpr const T *begin() const { return first; } constexpr const T *end() const { return first + count; } };
struct string { string(); string(const char *); string(const string &); string &operator=(const char *); const char *c_str() const; const char *data() const; size_t size() const; size_t length() const; bool empty() const; char &operator[](size_t); string &operator+=(const string &); size_t find(const char *) const; string substr(size_t, size_t = -1) const; static const size_t npos = -1; };
string operator+(const string &, const string &); bool operator==(const string &, const string &); bool operator!=(const string &, const string &); template <class T> string to_string(T); int stoi(const string &); float stof(const string &); double stod(const string &); long stol(const string &);
template <class T> struct allocator {};
template <class T, class A = allocator<T>> struct vector { typedef T value_type; typedef T *iterator; vector(); explicit vector(size_t); vector(size_t, const T &); vector(initializer_list<T>); template <class I> vector(I, I); T &operator[](size_t); const T &operator[](size_t) const; T &at(size_t); T *data(); const T *data() const; size_t size() const; bool empty() const; void resize(size_t); void resize(size_t, const T &); void reserve(size_t); void push_back(const T &); template <class... P> void emplace_back(P &&...); void pop_back(); void clear(); T *begin(); T *end(); const T *begin() const; const T *end() const; const T *cbegin() const; const T *cend() const; T &front(); T &back(); void assign(size_t, const T &); template <class I> void insert(T *, I, I); void swap(vector &); };
struct ostream { template <class T> ostream &operator<<(const T &); ostream &operator<<(ostream &(*)(ostream &)); int precision(int); int width(int); ostream &flush(); };
struct istream { template <class T> istream &operator>>(T &); explicit operator bool() const; };
extern ostream cout, cerr, clog; extern istream cin; ostream &endl(ostream &); ostream &flush(ostream &); ostream &fixed(ostream &); ostream &scientific(ostream &); ostream &left(ostream &); ostream &right(ostream &); int setw(int); int setprecision(int); char setfill(char); ostream &boolalpha(ostream &); ostream &hex(ostream &);
struct ofstream : ostream { ofstream(); ofstream(const char *, int = 0); ofstream(const string &, int = 0); bool is_open(); void close(); void open(const char *); bool good(); }; struct ifstream : istream { ifstream(); ifstream(const char *, int = 0); ifstream(const string &, int = 0); bool is_open(); void close(); bool good(); bool eof(); template <class... A> void read(A...); }; struct stringstream : ostream { string str(); }; typedef stringstream ostringstream; template <class S> S &getline(S &, string &);
template <class T> struct unique_ptr { unique_ptr(); explicit unique_ptr(T *); T *get() const; T &operator*() const; T *operator->() const; T &operator[](size_t) const; void reset(T * = 0); }; template <class T> struct unique_ptr<T[]> { unique_ptr(); explicit unique_ptr(T *); T *get() const; T &operator[](size_t) const; }; template <class T> struct shared_ptr { T *get() const; T &operator*() const; T *operator->() const; }; template <class T, class... A> unique_ptr<T> make_unique(A &&...); template <class T, class... A> shared_ptr<T> make_shared(A &&...);
template <class F> struct function { function(); template <class G> function(G); template <class... A> auto operator()(A &&...) const -> int; };
struct exception { virtual const char *what() const noexcept; }; struct runtime_error : exception { runtime_error(const string &); runtime_error(const char *); }; struct invalid_argument : runtime_error { using runtime_error::runtime_error; };
template <class I, class T> void fill(I, I, const T &); template <class I, class T> void fill_n(I, size_t, const T &); template <class I, class F> void generate(I, I, F); template <class I> void sort(I, I); template <class I, class F> void sort(I, I, F); template <class I, class T> void iota(I, I, T); template <class I, class T> T accumulate(I, I, T); template <class I, class O> O copy(I, I, O); template <class I> I max_element(I, I); template <class I> I min_element(I, I); template <class I, class J> bool equal(I, I, J); template <class I, class R> void shuffle(I, I, R &&); template <class I> void reverse(I, I); template <class I, class T> I find(I, I, const T &); template <class I, class T, class O> T inner_product(I, I, O, T); template <class I> void random_shuffle(I, I);
struct random_device { unsigned operator()(); }; struct mt19937 { mt19937(unsigned = 0); unsigned operator()(); }; typedef mt19937 default_random_engine; typedef mt19937 mt19937_64; typedef mt19937 minstd_rand;
template <class T = double> struct uniform_real_distribution { uniform_real_distribution(T = 0, T = 1); template <class R> T operator()(R &); }; template <class T = int> struct uniform_int_distribution { uniform_int_distribution(T = 0, T = 1); template <class R> T operator()(R &); }; template <class T = double> struct normal_distribution { normal_distribution(T = 0, T = 1); template <class R> T operator()(R &); };
template <class K, class V> struct map { V &operator[](const K &); size_t size() const; size_t count(const K &) const; }; template <class K, class V> struct unordered_map : map<K, V> {}; template <class K> struct set { void insert(const K &); size_t count(const K &) const; size_t size() const; }; template <class T> struct queue { void push(const T &); T &front(); void pop(); bool empty() const; size_t size() const; }; template <class T> struct list { void push_back(const T &); };
struct thread { thread(); template <class... A> thread(A &&...); void join(); }; struct mutex { void lock(); void unlock(); };
template <class T> struct complex { complex(T = 0, T = 0); T real() const; T imag() const; };
namespace chrono { struct duration_ { double count() const; }; template <class R, class P = int> struct duration : duration_ { duration(); template <class D> duration(D); }; struct time_point_ {}; duration_ operator-(time_point_, time_point_); struct high_resolution_clock { typedef time_point_ time_point; static time_point_ now(); }; typedef high_resolution_clock steady_clock; typedef high_resolution_clock system_clock; typedef duration_ milliseconds; typedef duration_ microseconds; typedef duration_ nanoseconds; typedef duration_ seconds; template <class D, class S> duration_ duration_cast(S); }
typedef int milli; typedef int micro; typedef int nano;
struct nothrow_t {}; extern const nothrow_t nothrow;
}
