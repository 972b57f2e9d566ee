(** Theorem 2: values at the boundary that fit together have one best private mechanism.

    A dataset n edges away from one that says yes with probability x says it with [steps n x] at most. The least of these over
    all fixed datasets is the most that privacy allows, and all datasets can have it at once. The paper fixes the blue
    boundary; any set that holds it will do (balanced mechanisms fix both boundaries). *)

From Coq Require Import Reals Lra Lia List.
From Duotone Require Import Step Graph.
Open Scope R_scope.

(** [bound P fixed m a]: the most that [a] can say yes where each fixed dataset b says it with probability [m b]. *)
Section Bound.
Variables (P : closeness) (G : graph) (fixed : G -> Prop) (m : G -> R).
Hypothesis given : forall b, fixed b -> probability (m b).

Definition demanded a x := x = 1 \/ exists b n, fixed b /\ walk n b a /\ x = steps P n (m b).

Lemma demanded_probability a x : demanded a x -> probability x.
Proof. intros [-> | (b & n & Hb & _ & ->)]; [split; lra | auto using steps_probability]. Qed.

(** The greatest lower bound, from the completeness of the real numbers. *)
Lemma demands_bounded a : Raxioms.bound (fun y => demanded a (- y)).
Proof. exists 0; intros y H; apply demanded_probability in H; destruct H; lra. Qed.

Lemma demands_exist a : exists y, demanded a (- y).
Proof. exists (- 1); left; lra. Qed.

Definition bound a := - proj1_sig (completeness _ (demands_bounded a) (demands_exist a)).

Lemma bound_below a x : demanded a x -> bound a <= x.
Proof.
  intros H; unfold bound; destruct completeness as [y H']; simpl; destruct H' as [U _].
  specialize (U (- x)); cbv beta in U; rewrite Ropp_involutive in U; specialize (U H); lra.
Qed.

Lemma bound_greatest a l : (forall x, demanded a x -> l <= x) -> l <= bound a.
Proof.
  intros H; unfold bound; destruct completeness as [y H']; simpl; destruct H' as [_ L].
  enough (y <= - l) by lra. apply L; intros z Hz; specialize (H _ Hz); lra.
Qed.

Lemma bound_probability a : probability (bound a).
Proof.
  split; [apply bound_greatest; intros x H; apply demanded_probability in H; apply H | apply bound_below; left; lra].
Qed.

Theorem bound_private : private P (bound : mechanism G).
Proof.
  apply private_steps; split; [exact bound_probability|]; intros a b E.
  assert (H : forall x, demanded a x -> bound b <= step P x).
  { intros x [-> | (c & n & Hc & W & ->)].
    - apply Rle_trans with 1; [apply bound_probability | apply step_extends; lra].
    - apply bound_below; right; exists c, (S n); repeat split; [assumption | eapply further; eassumption]. }
  destruct (bound_probability a) as [L U]. destruct (Req_dec (bound a) 1) as [A | A].
  - rewrite A. apply Rle_trans with 1; [apply bound_probability | apply step_extends; lra].
  - apply step_closed; [split; assumption | lra |]. intros x' Hx' _. apply Rnot_lt_le; intros C.
    enough (x' <= bound a) by lra. apply bound_greatest; intros x Hx. apply Rnot_lt_le; intros D.
    specialize (H x Hx). pose proof (step_increases P x x' ltac:(lra)). lra.
Qed.

Lemma bound_most (M : mechanism G) a : private P M -> (forall b, fixed b -> M b = m b) -> M a <= bound a.
Proof.
  intros HM K; apply bound_greatest; intros x [-> | (b & n & Hb & W & ->)]; [apply HM|].
  rewrite <- K by assumption; apply private_walks; assumption.
Qed.

(** Fixed values fit if none is above what another one allows. *)
Definition fit := forall a b n, fixed a -> fixed b -> walk n a b -> m b <= steps P n (m a).

Lemma bound_keeps b : fit -> fixed b -> bound b = m b.
Proof.
  intros F Hb; apply Rle_antisym; [apply bound_below; right; exists b, 0%nat; repeat split; auto; constructor|].
  apply bound_greatest; intros x [-> | (c & n & Hc & W & ->)]; [apply given; assumption | apply F; assumption].
Qed.

(** What the least demand is, the bound is. *)
Lemma bound_is a x : demanded a x -> (forall y, demanded a y -> x <= y) -> bound a = x.
Proof. intros D L; apply Rle_antisym; [apply bound_below, D | apply bound_greatest, L]. Qed.

(** The least of phi^distance over a list that has all fixed datasets: what `duotone.graphs.optimum` computes. *)
Theorem bound_is_minimum (all : list G) (distance : G -> G -> option nat) a :
  (forall b, fixed b <-> In b all) ->
  (forall b n, distance b a = Some n -> away (eq b) n a) ->
  (forall b, distance b a = None -> forall n, ~ walk n b a) ->
  bound a = fold_right (fun b least => match distance b a with
                                       | Some n => Rmin (steps P n (m b)) least
                                       | None => least end) 1 all.
Proof.
  intros A D N.
  assert (K : forall listed, (forall b, In b listed -> fixed b) ->
    let least := fold_right (fun b l => match distance b a with Some n => Rmin (steps P n (m b)) l | None => l end) 1 listed in
    demanded a least /\ least <= 1 /\ forall b n, In b listed -> walk n b a -> least <= steps P n (m b)).
  { induction listed as [| c listed IH]; simpl; intros F.
    - split; [left; reflexivity | split; [lra | intros ? ? []]].
    - destruct IH as (D' & O' & L'); [auto|]. destruct (distance c a) as [k|] eqn:E.
      + destruct (D _ _ E) as ((c' & <- & W) & S). unfold Rmin; destruct Rle_dec as [le | gt].
        * split; [right; exists c, k; auto | split; [apply steps_probability; auto; apply given; auto|]].
          intros b n [<- | I] V; [apply steps_extend; auto; apply (S n c); auto |
            eapply Rle_trans; [eassumption | apply L'; assumption]].
        * split; [assumption | split; [assumption|]]. intros b n [<- | I] V; [|auto].
          apply Rle_trans with (steps P k (m c));
            [apply Rlt_le, Rnot_le_lt; assumption | apply steps_extend; auto; apply (S n c); auto].
      + split; [assumption | split; [assumption|]]. intros b n [<- | I] V; [destruct (N _ E n V) | auto]. }
  destruct (K all) as (D' & O' & L'); [intros b; apply A|].
  apply bound_is; [assumption|]. intros y [-> | (b & n & Hb & W & ->)]; [assumption | apply L'; [apply A|]; assumption].
Qed.

End Bound.

Section Optimum.
Variables (P : closeness) (G : graph) (fixed : G -> Prop) (m : G -> R).
Hypothesis given : forall b, fixed b -> probability (m b).
Hypothesis holds_boundary : forall b, blue_boundary b -> fixed b.

Let no b := 1 - m b.

Lemma given_no b : fixed b -> probability (no b).
Proof. intros Hb; destruct (given b Hb); unfold no; split; lra. Qed.

(** By symmetry values that fit for yes fit for no. *)
Lemma fit_no : fit P G fixed m -> fit P G fixed no.
Proof.
  intros F a b n Ha Hb W; unfold no. rewrite <- steps_symmetric by (apply given; assumption). apply F, walk_back; assumption.
Qed.

(** Blue datasets say yes as often as they can, red ones no. *)
Definition optimum : mechanism G :=
  fun a => if blue a then bound P G fixed m given a else 1 - bound P G fixed no given_no a.

Definition keeps (M : mechanism G) := forall b, fixed b -> M b = m b.

(** Privacy needs the values to fit ... *)
Lemma keeps_fit M : private P M -> keeps M -> fit P G fixed m.
Proof. intros HM K a b n Ha Hb W; rewrite <- !K by assumption; apply private_walks; assumption. Qed.

(** ... and no more than that. *)
Lemma optimum_keeps : fit P G fixed m -> keeps optimum.
Proof.
  intros F b Hb; unfold optimum; destruct blue; [apply bound_keeps; assumption|].
  rewrite (bound_keeps P G fixed no given_no b); [unfold no; lra | apply fit_no, F | assumption].
Qed.

Theorem optimum_private : fit P G fixed m -> private P optimum.
Proof.
  intros F.
  pose proof (bound_private P G fixed m given) as Y.
  pose proof (private_dual P _ (bound_private P G fixed no given_no)) as N.
  rewrite private_steps in *. destruct Y as [Yp Y], N as [Np N]; simpl in *.
  split; [intros a; unfold optimum; destruct blue; [apply Yp | apply Np]|].
  intros a b E; unfold optimum.
  destruct (blue a) eqn:Ca, (blue b) eqn:Cb; [apply Y, E | | | apply N, E].
  (* an edge between the colours: its blue end is fixed, and there both bounds are the value itself *)
  - assert (Hb : fixed a) by (apply holds_boundary; split; eauto).
    rewrite (bound_keeps P G fixed m given a F Hb).
    replace (m a) with (1 - bound P G fixed no given_no a); [apply N, E|].
    rewrite bound_keeps; [unfold no; lra | apply fit_no, F | assumption].
  - assert (Hb : fixed b) by (apply holds_boundary; split; eauto using near_symmetric).
    rewrite (bound_keeps P G fixed m given b F Hb).
    replace (m b) with (1 - bound P G fixed no given_no b); [apply N, E|].
    rewrite bound_keeps; [unfold no; lra | apply fit_no, F | assumption].
Qed.

Theorem optimum_dominates M : private P M -> keeps M -> dominates optimum M.
Proof.
  intros HM K a; unfold truth, optimum; destruct blue; [apply bound_most; assumption|].
  enough (1 - M a <= bound P G fixed no given_no a) by lra.
  apply (bound_most P G fixed no given_no (fun a => 1 - M a)); [apply private_dual, HM|].
  intros b Hb; unfold no; rewrite K by assumption; reflexivity.
Qed.

(** Theorem 2: there is a private mechanism with these values exactly when they fit; then one dominates all, and only one. *)
Theorem theorem_2 :
  ((exists M, private P M /\ keeps M) <-> fit P G fixed m) /\
  (fit P G fixed m -> private P optimum /\ keeps optimum /\ forall M, private P M -> keeps M -> dominates optimum M) /\
  (fit P G fixed m -> forall N, private P N -> keeps N -> (forall M, private P M -> keeps M -> dominates N M) ->
     forall a, N a = optimum a).
Proof.
  split; [|split].
  - split; [intros (M & HM & K); exact (keeps_fit M HM K)|].
    intros F; exists optimum; split; [apply optimum_private | apply optimum_keeps]; assumption.
  - intros F; split; [apply optimum_private, F|]. split; [apply optimum_keeps, F | exact optimum_dominates].
  - intros F N HN K D; apply dominate_each_other; [|apply optimum_dominates; assumption].
    apply D; [apply optimum_private | apply optimum_keeps]; assumption.
Qed.

(** Where no walk leads to a fixed dataset the truth is certain. *)
Theorem alone a : (forall b n, fixed b -> ~ walk n b a) -> truth optimum a = 1.
Proof.
  intros H; unfold truth, optimum; destruct blue.
  - apply bound_is; [left; reflexivity|]. intros y [-> | (b & n & Hb & W & _)]; [lra | destruct (H b n Hb W)].
  - rewrite (bound_is P G fixed no given_no a 1); [lra | left; reflexivity|].
    intros y [-> | (b & n & Hb & W & _)]; [lra | destruct (H b n Hb W)].
Qed.

End Optimum.
